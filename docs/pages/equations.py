"""Docstrings as Markdown: indices of equations become subscripts, and nothing in them is taken for emphasis."""

import re
from typing import Any

import griffe

_INDEX = re.compile(
    r"(?<![A-Za-z]{2})([^\W\d_][\u0300-\u036f'′]*|[)\]])"  # a symbol of one letter, or what brackets hold
    r"_(\{((?:[^{}]|\{[^{}]*\})*)\}|[^\W_²³]{1,3}(?!(?![²³])[\w-]))"
)
_SPECIAL = re.compile(r"([*_<{}])")
_MADE = re.compile(r"field\(default_factory=(lambda: )?(.*)\)", re.DOTALL)
_DEVIATION = re.compile(r"\n(?=Deviation: )")


class Equations(griffe.Extension):
    """Write every docstring anew when it is read, and defaults that are made as what they are."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Write an object's docstring anew, and its default."""
        if obj.docstring:
            obj.docstring.value = marked(obj.docstring.value)
        if isinstance(obj, griffe.Attribute) and (made := _MADE.fullmatch(str(obj.value))):
            obj.value = made[2] if made[1] else f"{made[2]}()"


def marked(text: str) -> str:
    r"""Mark what is an index, and escape what Markdown would read as its own; code stays as it is.

    >>> marked("Σ_r λ_r² and σ_out²")
    'Σ<sub>r</sub> λ<sub>r</sub>² and σ<sub>out</sub>²'
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
