"""Room on the disk and in memory, asked for before anything is written or read."""

import shutil
from pathlib import Path

import psutil

from hideseek.errors import BadInput


def amount(size: float) -> str:
    """Write a number of bytes.

    >>> amount(4_000_000), amount(2.5e9), amount(1e21)
    ('4 MB', '2.5 GB', '1,000,000,000.0 TB')
    """
    for unit, each in (("TB", 1e12), ("GB", 1e9)):
        if size >= each:
            return f"{size / each:,.1f} {unit}"
    return f"{size / 1e6:,.0f} MB"


def need_space(path: Path, size: int, what: str = "what is written", instead: str = "") -> None:
    """Refuse to start what cannot fit onto the disk; `instead` is what else can be done about it."""
    place = next(p for p in (path, *path.absolute().parents) if p.exists())
    free = shutil.disk_usage(place).free
    if free < size:
        raise BadInput(
            f"there is no room for {what} on the disk of {path}: it takes {amount(size)}, and {amount(free)} are free;"
            f" {instead}free some space or write to another disk."
        )


def need_memory(size: int, what: str, instead: str) -> None:
    """Refuse to start what cannot fit into memory."""
    free = psutil.virtual_memory().available
    if free < size:
        raise BadInput(f"{what} needs {amount(size)} of memory, and {amount(free)} are free: {instead}.")
