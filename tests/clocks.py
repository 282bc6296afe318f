"""A clock that tests move themselves, so that no test depends on how busy the machine is."""

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf

from hideseek.audit.planning.clock import Clock, OutOfTime


class VirtualClock(Clock):
    """Stands still until work moves it; beyond a limit, or at the deadline, that raises OutOfTime, as the alarm would.

    On a machine that is `busy` times slower for others' sake, a second of work takes so many seconds of time.
    """

    def __init__(self, busy: float = 1.0) -> None:
        self.busy, self.worked, self.time, self.over = busy, 0.0, 0.0, inf
        self.limited = False

    def now(self) -> float:
        return self.worked

    def wall(self) -> float:
        return self.time

    def advance(self, seconds: float) -> None:
        """Work for some seconds, up to the limit."""
        until = min(self.over - self.worked, (self.deadline - self.time) / self.busy) if self.limited else inf
        done = max(0.0, min(seconds, until))
        self.worked, self.time = self.worked + done, self.time + done * self.busy
        if done < seconds or done >= until:
            raise OutOfTime

    @contextmanager
    def limit(self, seconds: float) -> Iterator[None]:
        self.over, self.limited = self.worked + seconds, True
        try:
            yield
        finally:
            self.over, self.limited = inf, False
