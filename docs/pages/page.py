"""A page of the site that is made, not written; and pieces of Markdown."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Page:
    """A page: its path in docs/, its title in the navigation, its Markdown."""

    path: str
    title: str
    text: str


def joined(*parts: str) -> str:
    r"""Join parts of a page that are not empty.

    >>> joined("# A", "", "b")
    '# A\n\nb\n'
    """
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    r"""Write a table; bars within cells are escaped.

    >>> print(table(["a", "b"], [["|x|", "y"]]))
    | a | b |
    | --- | --- |
    | \|x\| | y |
    """
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def documented(cls: type, fields: Iterable[str]) -> str:
    """Ask mkdocstrings for the docstring of a class, and what it says of these fields."""
    members = "".join(f"\n        - {name}" for name in fields)
    listed = f"members:{members}" if members else "members: false"
    return f"::: {cls.__module__}.{cls.__qualname__}\n    options:\n      {listed}"
