"""Running an attack: what it needs is checked first, and what it cost is written into its evidence."""

import math
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

import psutil

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records import Attack, Evidence, Reason, Refusal, Refused, Release
from hideseek.records.attack import R

EVERY = 0.02  # seconds between two looks at the memory


class NotFinite(BadInput):
    """An attack claims what is no number."""


def run(attack: Attack[R], release: R, chance: Randomness) -> Evidence:
    """Let an attack loose on a release, and say how many seconds and how much memory it took."""
    check(attack, release)
    with _Memory().watching() as memory:
        started = time.monotonic()
        evidence = attack.seek(release, chance)
        seconds = time.monotonic() - started
    for claim in evidence.claims:
        if not claim.finite():
            raise NotFinite(f"the attack has failed: its {type(claim).__name__} holds numbers that are not finite.")
    remarks = {name: value for name, value in evidence.remarks.items() if _is_sayable(value)}
    return replace(evidence, remarks=remarks, seconds=seconds, memory=memory.most)


def _is_sayable(remark: object) -> bool:
    """Tell whether a remark can be written: a number that overflowed cannot, and says nothing."""
    return not isinstance(remark, float) or math.isfinite(remark)


def refusal(attack: Attack[Any], release: Release) -> Refusal | None:
    """Say why an attack does not apply to a release; None where it does.

    The kind of release comes first, then what the attack itself says, then what is missing: public images are not
    asked for where a scheme mixes in none.
    """
    if not isinstance(release, attack.sees):
        return Refusal(Reason.OTHER_KIND, {"wanted": attack.sees.__name__, "given": type(release).__name__})
    if (reason := attack.refuses(release)) is not None:
        return reason
    missing = [field for field in attack.needs if getattr(release, field) is None]
    return Refusal(Reason.MISSING_FIELDS, {"fields": " and ".join(missing)}) if missing else None


def check(attack: Attack[R], release: R) -> None:
    """Refuse a release that the attack does not apply to."""
    if (reason := refusal(attack, release)) is not None:
        raise Refused(reason)


class _Memory:
    """Watches how much memory the process has, on a thread of its own; torch's memory is the process's too.

    All looks are that thread's: an alarm that ends the attack rings in the main one, where it would leave files of the
    system open.
    """

    def __init__(self) -> None:
        self.most = 0
        self._begun, self._done = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @contextmanager
    def watching(self) -> Iterator[Self]:
        """Watch while something runs."""
        self._thread.start()
        try:
            self._begun.wait()
            yield self
        finally:
            self._done.set()
            self._thread.join()

    def _watch(self) -> None:
        process = psutil.Process(os.getpid())
        before = process.memory_info().rss
        self._begun.set()
        while not self._done.wait(EVERY):
            self.most = max(self.most, process.memory_info().rss - before)
        self.most = max(self.most, process.memory_info().rss - before)
