"""What attacks say that they will cost, beside what they cost, in this run.

    python benchmarks/estimates.py [--quick] [--json FILE]

Every attack is run with its own settings and with those that it chooses for a few seconds (`within`), on releases of
the embedded faces (160 of 25×25, grey) and, where they are there, of CIFAR-10 with public images of Tiny ImageNet.
What it expects are seconds of the reference machine; times the pace of this machine, measured right before and after,
that is what is expected here. The ratio is of what was expected to what was measured; the aim is a factor of two for
whatever takes more than two seconds. Other work on the machine, which slows threads that wait for each other down by
far more than their share, spoils a time: runs in a busy moment are repeated, and where all were busy, the row says so
and is counted apart. What is expected to take longer than the limit is not run.
"""

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.errors import BadInput
from hideseek.hide import ENCODERS
from hideseek.records import Attack, EncodedRelease, Samples, Task
from hideseek.seek import ATTACKS, run
from hideseek.train.speed import pace

WITHIN = 2.0  # seconds that attacks are fitted into
LIMIT = 30.0  # seconds that an attack may be expected to take
QUIET = 1.3  # the pace above which the machine is busy with other work, or another machine
LONG, AIM = 2.0, 2.0  # of runs that take so many seconds, what is expected is to be right within this factor


def release(scheme: str, private: Samples, public: Samples, own: Samples, rounds: int) -> EncodedRelease:
    """Hide some images; the attacker knows all that an attack may need."""
    shared, secret = ENCODERS[scheme].hide(private, public, seeded(1), rounds)
    mixed_in = public if ENCODERS[scheme].images_per_row.public else None
    return replace(shared, weights=secret.weights, sources=secret.sources, public=mixed_in, own=own)


def releases(quick: bool) -> Iterator[tuple[str, EncodedRelease]]:
    """Give releases of several kinds and sizes."""
    faces = normalise(load("faces"), "channel")
    for rounds in (10,) if quick else (1, 10, 20):
        for scheme in ("mixup", "instahide-inside") if quick else ("mixup", "instahide-inside", "singularized-mixup"):
            yield f"faces, {scheme}, {rounds} rounds", release(scheme, faces, faces, faces, rounds)
    try:
        photographs, others = load("cifar10"), load("tinyimagenet", size=32)
    except BadInput as absent:
        print(f"CIFAR-10 and Tiny ImageNet are left out: {absent}")
        return
    photographs = normalise(photographs.take(slice(0, 2000)), "channel")
    others = normalise(others.take(slice(0, 10_000)), photographs.normalisation)
    sizes = [(200, 1, 1000)] if quick else [(200, 10, 1000), (1000, 1, 10_000), (1000, 10, 10_000)]
    for count, rounds, known in sizes:
        for scheme in ("mixup-cross",) if quick else ("mixup", "mixup-cross", "instahide-cross"):
            name = f"CIFAR-10, {count} images, {scheme}, {rounds} rounds, {known} public"
            private, own = photographs.take(slice(0, count)), photographs.take(slice(1000, 2000))
            yield name, release(scheme, private, others.take(slice(0, known)), own, rounds)


def timed(attack: Attack[Any], shared: EncodedRelease, tries: int) -> tuple[float, float]:
    """Run an attack until nothing else seems to run, or some times; give the pace around the quietest run, and seconds.

    Which run counts is told by the pace before and after it, not by how long it took.
    """
    runs: list[tuple[float, float]] = []
    while len(runs) < tries and (not runs or min(runs)[0] > QUIET):
        before = now()
        seconds = run(attack, shared, seeded(2)).seconds
        runs.append((max(before, now()), seconds))
    return min(runs)


def now() -> float:
    """Measure the pace anew: other work may have come."""
    pace.cache_clear()
    return pace()


def measure(quick: bool) -> Iterator[dict[str, Any]]:
    """Run every attack that applies to each release, whole and fitted."""
    limit = LIMIT / 5 if quick else LIMIT
    for name, shared in releases(quick):
        task = Task.of(shared)
        for called, attack in ATTACKS.items():
            fitted = attack.within(WITHIN / 10 if quick else WITHIN, task)
            for how, chosen in {"whole": attack, "fitted": fitted}.items():
                expected = chosen.effort(task)
                if attack.refuses(shared) or expected is None or (how == "fitted" and fitted == attack):
                    continue
                row: dict[str, Any] = {"release": name, "attack": called, "settings": how}
                row["expected on the reference"] = round(expected, 3)
                if expected < limit:
                    slower, seconds = timed(chosen, shared, 1 if quick else 4)
                    row |= {"pace": round(slower, 2), "seconds": round(seconds, 3), "busy": slower > QUIET}
                    row["ratio"] = round(expected * slower / seconds, 2)
                    line = f"{expected * slower:7.2f} expected, {seconds:7.2f} s, ratio {row['ratio']:5.2f}"
                    print(f"{line}  {called} ({how})  {name}", flush=True)
                yield row


def main() -> None:
    """Measure, print, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer and smaller releases, under a minute")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    asked = parser.parse_args()
    started = time.monotonic()
    rows = list(measure(asked.quick))
    long = [row for row in rows if row.get("seconds", 0.0) > LONG]
    counts = {}
    for busy in (False, True):
        ratios = [row["ratio"] for row in long if row["busy"] is busy]
        good = sum(1 / AIM <= ratio <= AIM for ratio in ratios)
        moment = "busy" if busy else "quiet"
        counts[moment] = {"long runs": len(ratios), "within a factor of two": good}
        print(f"{moment}: {good} of {len(ratios)} runs of more than {LONG:.0f} s were within a factor of {AIM:.0f}.")
    took = time.monotonic() - started
    if asked.json:
        about = {"torch": torch.__version__, "threads": torch.get_num_threads(), "quick": asked.quick}
        asked.json.write_text(
            json.dumps({**about, **counts, "seconds": round(took), "rows": rows}, indent=1, ensure_ascii=False) + "\n"
        )


if __name__ == "__main__":
    main()
