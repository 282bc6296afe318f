"""Damage every kind of file that hideseek reads, and see what becomes of it.

A file that a stranger changed is either refused in one sentence (BadInput) or read as a valid record: anything else, no
answer within five seconds, or two gigabytes of memory more than before, is a fault. Changes are drawn by Hypothesis,
which also makes what it finds as small as it can.

    python benchmarks/fuzz.py                 about a minute
    python benchmarks/fuzz.py --quick         some seconds
"""

import itertools
import json
import os
import resource
import signal
import tempfile
import time
import traceback
import warnings
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import psutil
import tyro
from fuzz_targets import Target, targets
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from hideseek.errors import BadInput

SECONDS, QUICK = 40.0, 6.0  # for all kinds together
LONGEST = 5.0  # seconds for one file
MEMORY = 2 << 30  # bytes that reading may take
BATCH = 40  # files between two looks at the time


@dataclass(frozen=True)
class Options:
    """How long to try, and where to write what came of it."""

    quick: bool = False
    json: Path | None = None
    seed: int = 0
    """Draw other changes."""


@dataclass
class Outcome:
    """What became of the files of one kind."""

    refused: int = 0
    read: int = 0
    faults: list[str] = field(default_factory=list)


class TooLong(BaseException):
    """A file took too long; no reader may catch it."""


def one(target: Target, data: st.DataObject, outcome: Outcome) -> None:
    """Change a file, read it, and put it back."""
    before = {path: path.read_bytes() for path in target.files}
    try:
        target.change(data.draw)
        signal.setitimer(signal.ITIMER_REAL, LONGEST)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            target.read()
        outcome.read += 1
    except BadInput:
        outcome.refused += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for path, content in before.items():
            path.write_bytes(content)


def tried(target: Target, seconds: float, first: int) -> Outcome:
    """Change files of one kind until the time is over, or a fault was found."""
    outcome, over = Outcome(), time.monotonic() + seconds
    numbers = itertools.count(first)
    while not outcome.faults and time.monotonic() < over:

        @seed(next(numbers))
        @settings(max_examples=BATCH, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(data=st.data())
        def change(data: st.DataObject) -> None:
            one(target, data, outcome)

        try:
            change()
        except (Exception, TooLong) as fault:  # noqa: BLE001 (whatever a reader raises is what is looked for)
            last = traceback.extract_tb(fault.__traceback__)[-1]
            where = f"{Path(last.filename).name}:{last.lineno}"
            outcome.faults.append(f"{type(fault).__name__}: {str(fault)[:200]} ({where})")
    return outcome


def main() -> None:
    """Try all kinds, print and write what came of it; a fault is a non-zero exit."""
    options = tyro.cli(Options, description=__doc__)

    def ring(number: int, frame: FrameType | None) -> None:
        raise TooLong(f"no answer after {LONGEST:g} s")

    signal.signal(signal.SIGALRM, ring)
    os.environ.pop("HIDESEEK_DATA", None)  # an audit with LPIPS would take most of the time
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        kinds = dict(targets(Path(place)))
        used = psutil.Process().memory_info().vms
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))
        for name, target in kinds.items():
            outcome = tried(target, (QUICK if options.quick else SECONDS) / len(kinds), options.seed)
            results[name] = asdict(outcome)
            print(f"{name}: {outcome.refused} refused, {outcome.read} read", *outcome.faults, sep="\n  ")
    total = Counter({key: sum(each[key] for each in results.values()) for key in ("refused", "read")})
    print(f"In all: {total['refused']:,} refused, {total['read']:,} read.")
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    if any(each["faults"] for each in results.values()):
        raise SystemExit("Faults were found.")


if __name__ == "__main__":
    main()
