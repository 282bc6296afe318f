"""A clock that tests move themselves, so that no test depends on how busy the machine is."""

from collections.abc import Iterator
from contextlib import contextmanager

from hideseek.audit.planning.clock import Clock, OutOfTime


class VirtualClock(Clock):
    """Stands still until it is moved; moving it beyond a limit raises OutOfTime, as the alarm would."""

    def __init__(self) -> None:
        self.time, self.deadline = 0.0, float("inf")

    def now(self) -> float:
        return self.time

    def wall(self) -> float:
        return self.time

    def advance(self, seconds: float) -> None:
        """Let some seconds pass, up to the limit."""
        self.time = min(self.time + seconds, self.deadline)
        if self.time >= self.deadline:
            raise OutOfTime

    @contextmanager
    def limit(self, seconds: float) -> Iterator[None]:
        self.deadline = self.time + seconds
        try:
            yield
        finally:
            self.deadline = float("inf")
