"""What a server measured: one line of JSON for every round or epoch, and a line for people."""

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

from hideseek.files import new_file, read_lines

METRICS = "metrics.jsonl"
RECENT = 5  # rounds whose time tells how long others will take


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """Read what was measured in every round so far."""
    return [json.loads(line) for line in read_lines(folder / METRICS)]


def write_metrics(folder: Path, measured: Mapping[str, Any]) -> None:
    """Add what was measured; it replaces what was written of the same round before the server was stopped."""
    kept = [each for each in read_metrics(folder) if place_of(each) != place_of(measured)]
    with new_file(folder / METRICS) as file:
        file.write("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in [*kept, measured]).encode())


def place_of(measured: Mapping[str, Any]) -> tuple[str, int]:
    """Give what was measured: an epoch or a round, and its number."""
    what = "epoch" if "epoch" in measured else "round"
    return what, int(measured[what])


def seconds_left(earlier: list[tuple[str, int, float]], rounds: int) -> float | None:
    """Tell how long the rounds to come will take, by the last ones of this run; the first one starts processes too.

    >>> seconds_left([("round", 0, 0.0), ("round", 1, 60.0), ("round", 2, 62.0)], 5)
    6.0
    >>> seconds_left([("round", 4, 0.0), ("round", 5, 60.0)], 10) is None
    True
    """
    same = [(place, at) for what, place, at in earlier if what == earlier[-1][0]]
    took = [later - before for (_, before), (_, later) in pairwise(same)][1:]
    return mean(took[-RECENT:]) * (rounds - same[-1][0]) if took else None


def line(measured: Mapping[str, Any], left: float | None = None) -> str:
    """Say in a line how far it is.

    >>> line({"round": 1, "rounds": 3, "parties": [4, 7], "asked": 3, "bytes_in": 2e6, "bytes_out": 1e6}, 10.0)
    'round 1 of 3, 2 of 3 parties, 2.0 MB in, 1.0 MB out, about 10 s left'
    """
    what, done = place_of(measured)
    of = int(measured.get(f"{what}s", 0))
    parts = [f"{what} {done}" + (f" of {of}" if of else "")]
    if "parties" in measured:
        parts.append(f"{len(measured['parties'])} of {measured['asked']} parties")
    if "rows" in measured:
        parts.append(f"{measured['rows']:,} encodings")
    if "test_accuracy" in measured:
        parts.append(f"accuracy {100 * measured['test_accuracy']:.1f} %")
    parts.append(f"{measured['bytes_in'] / 1e6:,.1f} MB in, {measured['bytes_out'] / 1e6:,.1f} MB out")
    if left is not None and done < of:
        parts.append(f"about {left:,.0f} s left")
    return ", ".join(parts)


def lines(measured: Sequence[Mapping[str, Any]], since: int = 0) -> list[str]:
    """Say every line, with the time left as it was then, by the rounds of this run: those from a place on.

    >>> measured = [{"round": n, "rounds": 3, "bytes_in": 0, "bytes_out": 0, "seconds": 9.0 * n} for n in range(3)]
    >>> lines(measured)[2], lines(measured, 1)[2]
    ('round 2 of 3, 0.0 MB in, 0.0 MB out, about 9 s left', 'round 2 of 3, 0.0 MB in, 0.0 MB out')
    """
    pace = [(*place_of(each), float(each["seconds"])) for each in measured]
    said = []
    for place, each in enumerate(measured):
        what, _ = place_of(each)
        left = seconds_left(pace[since : place + 1], int(each.get(f"{what}s", 0))) if place >= since else None
        said.append(line(each, left))
    return said
