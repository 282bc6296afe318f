"""Reading what may be anything: only plain files, of a bounded size; JSON in which no name stands twice."""

import json
import math
import os
import stat
from pathlib import Path
from typing import Any

from hideseek.errors import BadInput
from hideseek.files.room import need_memory

RECORD = 1 << 26  # bytes of the longest record: a release of 20 TB has a description of that length


def check_plain(path: Path) -> None:
    """Refuse a pipe, device or socket in the place of a file: reading it could wait for ever, or never end.

    What is not there, or may not be looked at, is an OSError.
    """
    _refuse_others(path, path.stat().st_mode)


def read_bytes(path: Path, most: int | None = None) -> bytes:
    """Read a plain file whole; one of more than `most` bytes, or than memory holds, is refused."""
    check_plain(path)  # before it is opened, since to open some devices is to use them
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        _refuse_others(path, found.st_mode)
        if most is not None and found.st_size > most:
            raise BadInput(f"{path} is longer than what it should be: get it again from where it came.")
        need_memory(found.st_size, f"reading {path}", "close other programs, or use a machine with more")
        return file.read(found.st_size)


def read_record(path: Path) -> Any:
    """Read a JSON file; what is no JSON, or says something twice, is a ValueError."""
    return parsed(read_bytes(path, RECORD).decode("utf-8"))


def read_lines(path: Path) -> list[str]:
    """Read the lines of a file, none if it is not there; Unicode has separators of lines that end none here."""
    return [line for line in path.read_text("utf-8").split("\n") if line] if path.exists() else []


def parsed(text: str, **how: Any) -> Any:
    """Parse JSON; a name that stands twice in one object, NaN, or nesting without end is a ValueError.

    >>> parsed('{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    """
    try:
        return json.loads(
            text, **{"object_pairs_hook": _once, "parse_constant": _no_number, "parse_float": _finite, **how}
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object; readers disagree on which of two values counts, so neither does."""
    built = dict(pairs)
    if len(built) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice[:80]!r} stands in it twice")
    return built


def _finite(text: str) -> float:
    if abs(value := float(text)) < math.inf:
        return value
    raise ValueError(f"{text[:20]} is too large")


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not a number")


def _refuse_others(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        what = "folder" if stat.S_ISDIR(mode) else "pipe, a device or a socket"
        raise BadInput(f"{path} is not a file but a {what}: name a file.")
