"""`hideseek bench check|board`: whether entries have their evidence, and the leaderboard of those that do."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from hideseek.bench import BENCHMARKS, Evidence, as_markdown, entries, flaws
from hideseek.cli.arguments import parse
from hideseek.cli.terminal import say
from hideseek.errors import BadInput
from hideseek.files import new_file


@dataclass(frozen=True)
class BenchCheck:
    """Say of every entry in a folder whether its evidence is whole; the exit code is 1 where one lacks some.

    Every attack must have been run with its own settings, have succeeded on its weak case and found nothing in noise,
    or say why it does not apply; every seed must have its accuracy; what was broken must have its picture, unless it
    was by picking candidates.

    Try:  hideseek bench check leaderboard/rows
    """

    folder: Annotated[Path, Positional, arg(metavar="DIR")]
    """The folder of the entries."""


@dataclass(frozen=True)
class BenchBoard:
    """Write the leaderboard of the entries in a folder as Markdown; one without its evidence is refused.

    Try:  hideseek bench board leaderboard/rows --out leaderboard/rows.md
    """

    folder: Annotated[Path, Positional, arg(metavar="DIR")]
    """The folder of the entries."""
    out: Annotated[Path, arg(metavar="FILE")]
    """The file to write; what is there is replaced."""


def run(verb: str, arguments: Sequence[str]) -> None:
    """Parse the arguments, and check or write."""
    if verb == "check":
        _check(parse(BenchCheck, "hideseek bench check", arguments))
    else:
        _board(parse(BenchBoard, "hideseek bench board", arguments))


def _read(folder: Path) -> list[Evidence]:
    found = list(entries(folder))
    if not found:
        raise BadInput(f"there is no entry in {folder}: measure one by hideseek bench rows or updates.")
    return found


def _lacking(found: Sequence[Evidence]) -> dict[str, list[str]]:
    return {each.folder.name: lacks for each in found if (lacks := flaws(each))}


def _check(asked: BenchCheck) -> None:
    found = _read(asked.folder)
    lacking = _lacking(found)
    for each in found:
        lacks = lacking.get(each.folder.name)
        say(f"{each.folder.name}: {'; '.join(lacks) if lacks else 'whole'}")
    if lacking:
        raise BadInput(f"{len(lacking)} of {len(found)} entries lack evidence: measure them again, or remove them.")


def _board(asked: BenchBoard) -> None:
    found = _read(asked.folder)
    if lacking := _lacking(found):
        name, lacks = next(iter(lacking.items()))
        raise BadInput(f"{name} may not stand on a leaderboard: {'; '.join(lacks)}.")
    boards = [protocol for protocol in BENCHMARKS.values() if protocol.name == found[0].entry.protocol]
    if not boards or any(each.entry.protocol != boards[0].name for each in found):
        raise BadInput("a leaderboard is of entries of one benchmark, and of none that was measured by --quick.")
    with new_file(asked.out) as file:
        place = Path(os.path.relpath(asked.folder, asked.out.parent)).as_posix()
        file.write(as_markdown(boards[0], found, place).encode())
    say(f"The leaderboard of {len(found)} entries is in {asked.out}.")
