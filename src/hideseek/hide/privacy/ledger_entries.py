"""What stands in a ledger: releases, whether each was finished, and budgets, each a line of JSON."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from hideseek.files import parsed
from hideseek.hide.privacy.ledger_budget import Budget
from hideseek.records.spent import Spent

Kind = Literal["hide", "update", "encodings", "statistics", "dp-sgd"]
"""What left: a release, an update of a federation, its encodings, numbers beside them, a model of DP-SGD."""
BEGUN, BUDGET, FINISHED = "begun", "budget", "finished"


@dataclass(frozen=True)
class Leaving:
    """What is about to leave, as whoever lets it leave describes it."""

    kind: Kind
    scheme: Mapping[str, Any]
    """As JSON has it."""
    spent: Spent
    rounds: int = 1
    release: str = ""
    """A digest of it, where that is known before it leaves; the same bytes again tell nothing new."""
    where: str = ""
    """The place of the release, if it has one on this machine."""


@dataclass(frozen=True)
class Entry:
    """A release in a ledger."""

    number: int
    time: str
    leaving: Leaving
    images: int
    image_set: str
    finished: bool = False
    """Whether it is known to have left; it counts in any case."""


@dataclass(frozen=True)
class Contents:
    """All that a ledger says."""

    entries: tuple[Entry, ...] = ()
    budget: Budget = field(default_factory=Budget)
    sets: Mapping[str, bytes] = field(default_factory=dict)


def body_of(kind: str, **about: Any) -> str:
    """Write a line, with the time."""
    time = datetime.now(UTC).isoformat(timespec="seconds")
    return json.dumps({"kind": kind, "time": time, **about}, ensure_ascii=False, allow_nan=False)


def release_body(leaving: Leaving, images: int, image_set: str) -> str:
    """Write the line of a release."""
    about = {name: value for name, value in vars(leaving).items() if name not in ("kind", "spent")}
    return body_of(leaving.kind, **about, **vars(leaving.spent), images=images, image_set=image_set)


def contents_of(bodies: Mapping[int, str], sets: Mapping[str, bytes]) -> Contents:
    """Read the lines of a ledger, whose seals were checked, by their numbers."""
    entries: dict[int, Entry] = {}
    budget = Budget()
    finished: dict[int, str] = {}
    for number, body in bodies.items():
        line: dict[str, Any] = parsed(body)
        kind, time = line.pop("kind"), line.pop("time")
        if kind == BUDGET:
            budget = Budget(**line)
        elif kind == FINISHED:
            finished[line["of"]] = line["release"]
        elif kind != BEGUN:
            entries[number] = _entry(number, kind, time, line)
    done = (_marked(entry, finished) for entry in entries.values())
    return Contents(tuple(done), budget, sets)


def _entry(number: int, kind: Kind, time: str, line: dict[str, Any]) -> Entry:
    spent = Spent(**{name: line.pop(name) for name in ("proof", "mu2", "epsilon", "delta")})
    images, image_set = line.pop("images"), line.pop("image_set")
    return Entry(number, time, Leaving(kind, spent=spent, **line), images, image_set)


def _marked(entry: Entry, finished: Mapping[int, str]) -> Entry:
    if entry.number not in finished:
        return entry
    release = finished[entry.number] or entry.leaving.release
    leaving = Leaving(**{**vars(entry.leaving), "release": release})
    return Entry(entry.number, entry.time, leaving, entry.images, entry.image_set, finished=True)
