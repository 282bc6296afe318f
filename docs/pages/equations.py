"""Docstrings as Markdown: indices of equations become subscripts, and nothing in them is taken for emphasis."""

import re
from typing import Any

import griffe

_INDEX = re.compile(
    r"(?<![A-Za-z]{2})([^\W\d_][\u0300-\u036f'′]*|[)\]])"  # a symbol of one letter, or what brackets hold
    r"_(\{((?:[^{}]|\{[^{}]*\})*)\}|[^\W_]{1,3}(?![\w-]))"
)
_SPECIAL = re.compile(r"([*_<{}])")
_DEVIATION = re.compile(r"\n(?=Deviation: )")


class Equations(griffe.Extension):
    """Write every docstring anew when it is read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Write an object's docstring anew."""
        if obj.docstring:
            obj.docstring.value = marked(obj.docstring.value)


def marked(text: str) -> str:
    r"""Mark what is an index, and escape what Markdown would read as its own; code stays as it is.

    >>> marked("x̃_i = Σ_j λ_ij x_{π_j(i)}, of `k_private`, not k_private")
    'x̃<sub>i</sub> = Σ<sub>j</sub> λ<sub>ij</sub> x<sub>π<sub>j</sub>(i)</sub>, of `k_private`, not k\\_private'
    """
    parts = re.split(r"(`[^`]*`)", _DEVIATION.sub("\n\n", text))
    return "".join(part if number % 2 else _plain(part) for number, part in enumerate(parts))


def _plain(text: str) -> str:
    done, place = [], 0
    for index in _INDEX.finditer(text):
        done.append(_SPECIAL.sub(r"\\\1", text[place : index.start()]))
        done.append(f"{index[1]}<sub>{_plain(index[3] or index[2])}</sub>")
        place = index.end()
    return "".join([*done, _SPECIAL.sub(r"\\\1", text[place:])])
