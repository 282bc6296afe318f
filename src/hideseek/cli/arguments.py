"""The command line of a verb, read into its options; what cannot be read is one sentence."""

import io
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import Any, TypeVar

import tyro

from hideseek.cli.config import ConfigFile
from hideseek.cli.mistakes import BadArguments
from hideseek.escapes import escaped

T = TypeVar("T")

WIDE = "100000"  # columns: then no line of an error is broken
RULER = re.compile("─{3,}")
QUOTED = r"'([^']*)'"
CHOICE = re.compile(r"invalid choice '(.*)' for argument '([^']*)'\. Expected one of \((.*)\)\.?")
NUMBERS = (
    (re.compile(r".*invalid literal for int\(\) with base 10: (.*)"), "must be a whole number, not"),
    (re.compile(r".*could not convert string to float: (.*)"), "must be a number, not"),
)


def parse(kind: type[T], prog: str, arguments: Sequence[str], file: ConfigFile | None = None, **how: Any) -> T:
    """Read options, and those of a file that are not typed; a request for help prints it and ends the program."""
    prog = escaped(prog)
    if file is not None:
        arguments = [*file.options(arguments, kind), *arguments]
    try:
        with redirect_stderr(io.StringIO()):
            read: T = tyro.cli(kind, prog=prog, args=arguments, **how)
            return read
    except SystemExit as ended:
        if not ended.code:
            raise
    box = io.StringIO()
    plain = io.TextIOWrapper(io.BytesIO(), "utf-8")  # no terminal: then the box has no colours, and always these lines
    with _wide(), redirect_stdout(plain), redirect_stderr(box), suppress(SystemExit):  # again, for the words
        tyro.cli(kind, prog=prog, args=list(map(escaped, arguments)), **how)
    raise BadArguments(f"{told(box.getvalue())} (see {prog} --help).")


@contextmanager
def _wide() -> Iterator[None]:
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = WIDE
    try:
        yield
    finally:
        del os.environ["COLUMNS"]
        if before is not None:
            os.environ["COLUMNS"] = before


def told(box: str) -> str:
    r"""Say in a sentence what the parser drew as a box: what is wrong, and what it suggests.

    >>> told("╭─ Value error ─────╮\n│ Error parsing --k: invalid literal for int() with base 10: 'x' │\n╰─────╯")
    "--k must be a whole number, not 'x'"
    """
    first, *others = _sections(box) or [["the command line cannot be read"]]
    words = " ".join(line.strip() for line in first)
    if words.startswith("Missing from"):
        unknown = next((_options(part) for part in others if part[0] == "Unrecognized options:"), [])
        also = f", and {' '.join(unknown)} is not understood" if unknown else ""
        return f"this command needs {_listed(_options(first), 'and')}{also}"
    if words.startswith("Unrecognized options:"):
        meant = next((_options(part) for part in others if part[0].startswith("Perhaps you meant")), [])
        hint = f": did you mean {meant[0]}?" if meant else ""
        return f"{words.removeprefix('Unrecognized options:').strip().replace(', ', ' ')} is not understood{hint}"
    if words.startswith("Missing value for argument"):
        return f"{words.split(chr(39))[1]} needs a value"
    if choice := CHOICE.fullmatch(words):
        value, option, allowed = choice.groups()
        names = re.findall(QUOTED, allowed)
        if "None" in names:  # which is to leave it out; the others come in any order then
            names = sorted(name for name in names if name != "None")
        return f"{option} must be {_listed(names, 'or')}, not '{value}'"
    if words.startswith("Error parsing"):
        return _value(words.removeprefix("Error parsing").strip())
    return f"{words[:1].lower()}{words[1:]}".rstrip(".")


def _value(words: str) -> str:
    """Say what a value must be."""
    option, _, reason = words.partition(": ")
    for pattern, must in NUMBERS:
        if found := pattern.fullmatch(reason):
            return f"{option} {must} {found[1]}"
    return f"{option} cannot be read: {reason}".rstrip(".")


def _sections(box: str) -> list[list[str]]:
    """Give the lines inside a box, in the parts between its rulers."""
    parts: list[list[str]] = [[]]
    for line in box.splitlines():
        inside = line.strip("│").removeprefix(" ").rstrip()
        if RULER.fullmatch(inside):
            parts.append([])
        elif line.startswith("│") and inside:
            parts[-1].append(inside)
    return [part for part in parts if part]


def _options(lines: Sequence[str]) -> list[str]:
    """Give the options that are named under a head, each with its help below it."""
    return [line.strip() for line in lines[1:] if re.match(r" {4}\S", line)]


def _listed(names: Sequence[str], word: str) -> str:
    return f"{', '.join(names[:-1])} {word} {names[-1]}" if len(names) > 1 else "".join(names)
