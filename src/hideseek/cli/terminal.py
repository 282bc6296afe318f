"""The one way to the terminal: what verbs print passes through here, and reaches it without control characters."""

import codecs
import io
import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hideseek.escapes import escaped

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

WIDTH = 200  # columns, where the output is not a terminal
LONGEST = 1000  # characters of a word that are shown: nobody reads more, and a table would have thousands of lines
LOOK_ALIKES = {
    **dict.fromkeys("─━–—−‑", "-"),
    **dict.fromkeys("│┃", "|"),
    **dict.fromkeys("╭╮╰╯┌┐└┘├┤┬┴┼╴╶╺╸", "+"),
    **dict.fromkeys("‘’", "'"),
    **dict.fromkeys("“”", '"'),
    **dict.fromkeys("•●·⋅", "*"),
    **{"×": "x", "…": "...", "↑": "^", "↓": "v", "≥": ">=", "≤": "<=", "→": "->", "±": "+-", "‖": "||", "∈": "in"},
    **{"σ": "sigma", "λ": "lambda", "τ": "tau", "ε": "epsilon", "δ": "delta", "Σ": "sum", "²": "^2", "½": "1/2"},
}
"""What is written instead where the output has no such character."""
HANDLER = "hideseek-look-alikes"


@dataclass(frozen=True)
class Styled:
    """A text in a style of rich: bold, dim, a colour."""

    text: str
    style: str


Part = str | Styled
Cell = Part | list[Part]


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    head: str = ""
    right: bool = False
    whole: bool = False
    """Its cells are not broken over lines."""
    fold: bool = False
    """Its cells are broken anywhere, where they are too long."""
    narrowest: int | None = None
    widest: int | None = None


def prepare() -> None:
    """Let outputs of any encoding take all text, as look-alikes or escapes; where one is closed, nothing is printed."""
    if sys.stdout is None or sys.stderr is None:
        nowhere = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 (open until the program ends)
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=HANDLER)


def _look_alikes(error: UnicodeError) -> tuple[str | bytes, int]:
    """Write look-alikes or escapes for characters that an encoding does not have."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(LOOK_ALIKES.get(each) or _as_escape(each) for each in missing), error.end


def _as_escape(character: str) -> str:
    return character.encode("ascii", "backslashreplace").decode()


codecs.register_error(HANDLER, _look_alikes)


def say(*lines: str) -> None:
    """Print lines; a name in them cannot begin another one."""
    for line in lines:
        print(shown(line), flush=True)


def complain(*lines: str) -> None:
    """Print lines to where errors go."""
    for line in lines:
        print(shown(line), file=sys.stderr, flush=True)


def shown(text: str) -> str:
    """Give a text as it is printed: control characters as escapes, and no endless words."""
    safe = escaped(text)
    return safe if len(safe) <= LONGEST else re.sub(rf"\S{{{LONGEST},}}", _shortened, safe)


def _shortened(word: re.Match[str]) -> str:
    return f"{word[0][: LONGEST // 10]}… ({len(word[0]):,} characters)"


def paragraph(*parts: Part) -> None:
    """Print parts in their styles, as one text whose lines are broken between words."""
    _console().print(_text([*parts]))


def table(columns: Sequence[Column], rows: Iterable[Sequence[Cell]], title: str = "") -> None:
    """Print a table."""
    from rich import box
    from rich.table import Table

    drawn = Table(box=box.SIMPLE_HEAD, header_style="", title_justify="left", title_style="")
    drawn.title = _text(title) if title else None
    for column in columns:
        drawn.add_column(
            _text(column.head),
            justify="right" if column.right else "left",
            no_wrap=column.whole,
            overflow="fold" if column.fold else "ellipsis",
            min_width=column.narrowest,
            max_width=column.widest,
        )
    for row in rows:
        drawn.add_row(*map(_text, row))
    _console().print(drawn)


def width() -> int:
    """Give how many columns there are: those of the terminal, or many where the output goes elsewhere."""
    return _console().width


def _console() -> "Console":
    from rich.console import Console

    return Console(file=sys.stdout, width=None if sys.stdout.isatty() else WIDTH, highlight=False)


def _text(cell: Cell) -> "Text":
    """Make a cell rich's, with look-alikes, so that columns are as wide as what is printed."""
    from rich.text import Text

    if isinstance(cell, list):
        return Text.assemble(*map(_text, cell))
    styled = cell if isinstance(cell, Styled) else Styled(cell, "")
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return Text(shown(styled.text).encode(encoding, HANDLER).decode(encoding), styled.style)
