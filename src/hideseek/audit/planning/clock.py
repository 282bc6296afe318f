"""The clock of an audit, and a limit of time for work that does not watch the clock itself."""

import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType


class OutOfTime(Exception):  # noqa: N818 (what it says, not that it is an error)
    """The time that was given is over."""


class Clock(ABC):
    """Counts the seconds of this process's own work, tells the time, and stops work that takes too long.

    Tests have one that they move themselves.
    """

    @abstractmethod
    def now(self) -> float:
        """Tell how many seconds this process has worked: a busy machine does not change it."""

    @abstractmethod
    def wall(self) -> float:
        """Tell the time."""

    @abstractmethod
    def limit(self, seconds: float) -> AbstractContextManager[None]:
        """Raise OutOfTime in what runs in this context when the seconds are over."""


class WallClock(Clock):
    """The machine's clock."""

    def now(self) -> float:
        """Tell the time, from some beginning on."""
        return time.monotonic()

    def wall(self) -> float:
        """Tell the time, from some beginning on."""
        return time.monotonic()

    @contextmanager
    def limit(self, seconds: float) -> Iterator[None]:
        """Raise OutOfTime when the seconds are over, as soon as Python gets to it.

        It takes the alarm of the operating system, which only the main thread has: elsewhere, there is no limit.
        """
        if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
            yield
            return

        def ring(number: int, frame: FrameType | None) -> None:
            raise OutOfTime

        before = signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
