"""How long attacks are expected to take, beside how long they take, in this run.

    python benchmarks/estimates.py [--quick] [--json FILE]

An attack counts its work. An audit runs it on a small weak case first (48 images, 10 rounds, 300 public images), to see
whether it works. The seconds of that run over its work are what a unit takes, and so the seconds of other releases are
expected. Here every attack is measured so, with its own settings and with those that it chooses for two seconds
(`within`), on releases of the embedded faces (160 of 25×25, grey) and, where they are there, of CIFAR-10 with public
images of Tiny ImageNet. The ratio is of the seconds that are expected to those that are measured. The aim: a factor of
two for nine runs in ten of more than two seconds.

Other work on the machine spoils a time: a run in a busy moment, told by the time of a product of matrices before and
after, is repeated; where all were busy, the row says so and is counted apart. What is expected to take longer than the
limit is not run.
"""

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from hideseek.audit.belief.proofs import OWN, PUBLIC, WORK
from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.errors import BadInput
from hideseek.hide import ENCODERS
from hideseek.records import Attack, EncodedRelease, MixingEncoder, Samples
from hideseek.seek import ATTACKS, refusal, run
from hideseek.train.speed import unit_seconds

WITHIN = 2.0  # seconds that attacks are fitted into
LIMIT = 30.0  # seconds that an attack may be expected to take
BUSY = 1.3  # times the shortest time of a product that was seen: above, the machine has other work
LONG, AIM = 2.0, 2.0  # of runs that take so many seconds, what is expected is to be right within this factor


@dataclass(frozen=True)
class Case:
    """What is hidden, and what of it an attacker has."""

    name: str
    scheme: MixingEncoder
    private: Samples
    public: Samples
    own: Samples
    rounds: int

    def release(self) -> EncodedRelease:
        """Hide; the attacker knows all that an attack may need."""
        return _hidden(self.scheme, self.private, self.public, self.own, self.rounds)

    def weak(self) -> Iterator[EncodedRelease]:
        """Give the weak cases that attacks are tried on first."""
        trial = self.scheme.trial(self.private)
        few, rounds = self.private.take(slice(0, trial.images)), trial.noise_rounds
        for scheme in self.scheme.weak_cases(few, seeded(3)):
            yield _hidden(scheme, few, self.public.take(slice(0, PUBLIC)), self.own.take(slice(0, OWN)), rounds)


def _hidden(scheme: Any, private: Samples, public: Samples, own: Samples, rounds: int) -> EncodedRelease:
    release, secret = scheme.hide(private, public if scheme.mixes_public else None, seeded(1), rounds)
    shared: EncodedRelease = secret.reveal(replace(release, own=own), EncodedRelease.withheld)
    return shared


def cases(quick: bool) -> Iterator[Case]:
    """Give releases of several kinds and sizes."""
    faces = normalise(load("faces"), "channel")
    for rounds in (10,) if quick else (1, 10, 20):
        for name in ("mixup", "instahide-inside") if quick else ("mixup", "instahide-inside", "singularized-mixup"):
            yield Case(f"faces, {name}, {rounds} rounds", ENCODERS[name], faces, faces, faces, rounds)
    try:
        photographs, others = load("cifar10"), load("tinyimagenet", size=32)
    except BadInput as absent:
        print(f"CIFAR-10 and Tiny ImageNet are left out: {absent}")
        return
    photographs = normalise(photographs.take(slice(0, 2000)), "channel")
    others = normalise(others.take(slice(0, 10_000)), photographs.normalisation)
    sizes = [(200, 1, 1000)] if quick else [(200, 10, 1000), (1000, 1, 10_000), (1000, 10, 10_000)]
    for count, rounds, known in sizes:
        for name in ("mixup-cross",) if quick else ("mixup", "mixup-cross", "instahide-cross"):
            title = f"CIFAR-10, {count} images, {name}, {rounds} rounds, {known} public"
            private, own = photographs.take(slice(0, count)), photographs.take(slice(1000, 2000))
            yield Case(title, ENCODERS[name], private, others.take(slice(0, known)), own, rounds)


@dataclass
class Stopwatch:
    """Times attacks, and tells busy moments from quiet ones."""

    tries: int
    shortest: float = field(default_factory=unit_seconds)

    def now(self) -> float:
        """Measure how many times longer a product takes than the shortest one: other work may have come."""
        unit_seconds.cache_clear()
        found = unit_seconds()
        self.shortest = min(self.shortest, found)
        return found / self.shortest

    def seconds(self, attack: Attack[Any], release: EncodedRelease) -> tuple[float, bool]:
        """Run an attack until the moment is quiet, or some times; give its seconds, and whether all were busy.

        Which run counts is told by what is measured around it, not by how long it took.
        """
        runs: list[tuple[float, float]] = []
        while len(runs) < self.tries and (not runs or min(runs)[0] > BUSY):
            before = self.now()
            seconds = run(attack, release, seeded(2)).seconds
            runs.append((max(before, self.now()), seconds))
        slower, seconds = min(runs)
        return seconds, slower > BUSY


def calibrated(attack: Attack[Any], case: Case, watch: Stopwatch) -> tuple[float, float] | None:
    """Give the seconds of an attack on a weak case, and of a unit of its work; nothing where it is on none of them."""
    for release in case.weak():
        if refusal(attack, release) is None:
            fitted = attack.within(WORK, release.size())
            work = fitted.work(release.size())
            if work is not None:
                seconds, _ = watch.seconds(fitted, release)
                return seconds, seconds / work
    return None


def measure(quick: bool) -> Iterator[dict[str, Any]]:
    """Run every attack that applies to each release, with its own settings and with fitted ones."""
    limit, within, watch = (LIMIT / 5, WITHIN / 4, Stopwatch(1)) if quick else (LIMIT, WITHIN, Stopwatch(4))
    units: dict[tuple[str, str, tuple[int, int, int]], tuple[float, float] | None] = {}
    for case in cases(quick):
        release = case.release()
        task = release.size()
        for name, attack in ATTACKS.items():
            if refusal(attack, release) is not None:
                continue
            key = (name, case.scheme.weak_kind, case.private.shape)
            if key not in units:
                units[key] = calibrated(attack, case, watch)
            if (unit := units[key]) is None:
                continue
            fitted = attack.within(within / unit[1], task)
            for how, chosen in {"whole": attack, "fitted": fitted}.items():
                work = chosen.work(task)
                if work is None or (how == "fitted" and fitted == attack):
                    continue
                expected = work * unit[1]
                row: dict[str, Any] = {"release": case.name, "attack": name, "settings": how, "work": f"{work:.3g}"}
                row |= {"weak case, seconds": round(unit[0], 3), "expected": round(expected, 3)}
                if expected < limit:
                    seconds, busy = watch.seconds(chosen, release)
                    row |= {"seconds": round(seconds, 3), "busy": busy, "ratio": round(expected / seconds, 2)}
                    line = f"{expected:7.2f} expected, {seconds:7.2f} s, ratio {row['ratio']:5.2f}{' busy' * busy}"
                    print(f"{line}  {name} ({how})  {case.name}", flush=True)
                yield row


def main() -> None:
    """Measure, print, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer and smaller releases, under a minute")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    asked = parser.parse_args()
    started = time.monotonic()
    rows = list(measure(asked.quick))
    long = [row for row in rows if row.get("seconds", 0.0) > (LONG / 4 if asked.quick else LONG)]
    counts = {}
    for busy in (False, True):
        ratios = [row["ratio"] for row in long if row["busy"] is busy]
        good = sum(1 / AIM <= ratio <= AIM for ratio in ratios)
        moment = "busy" if busy else "quiet"
        counts[moment] = {"long runs": len(ratios), "within a factor of two": good}
        print(f"{moment} moments: {good} of {len(ratios)} long runs were within a factor of {AIM:.0f}.")
    took = time.monotonic() - started
    if asked.json:
        about = {"torch": torch.__version__, "threads": torch.get_num_threads(), "quick": asked.quick}
        asked.json.write_text(
            json.dumps({**about, **counts, "seconds": round(took), "rows": rows}, indent=1, ensure_ascii=False) + "\n"
        )


if __name__ == "__main__":
    main()
