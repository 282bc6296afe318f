"""The clock of an audit, and a limit of time for work that does not watch the clock itself."""

import math
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType

from hideseek.device import device

SOON = 0.02  # seconds, at least, until the alarm looks again


class OutOfTime(Exception):  # noqa: N818 (what it says, not that it is an error)
    """The time that was given is over."""


class Clock(ABC):
    """Counts the seconds of this process's own work, tells the time, and stops work that takes too long.

    Tests have one that they move themselves.
    """

    deadline: float = math.inf
    """The time, by `wall`, at which limited work is stopped, however little of its seconds it has worked."""

    @abstractmethod
    def now(self) -> float:
        """Tell how many seconds this process has worked: a busy machine does not change it."""

    @abstractmethod
    def wall(self) -> float:
        """Tell the time."""

    @abstractmethod
    def limit(self, seconds: float) -> AbstractContextManager[None]:
        """Raise OutOfTime in what runs in this context when it has worked so many seconds, or at the deadline."""


class ProcessClock(Clock):
    """The machine's clock: work is the processor time of the calling thread.

    That thread takes part in all that runs in parallel. Alone on a machine, its seconds are about those of the time;
    beside other work they do not grow. The processor time of the process would count every thread, and so depend on
    the number of cores. On an accelerator the processor only waits, and the time is what counts.
    """

    def now(self) -> float:
        """Tell how many seconds the calling thread has worked."""
        return time.thread_time() if device().type == "cpu" else time.monotonic()

    def wall(self) -> float:
        """Tell the time, from some beginning on."""
        return time.monotonic()

    @contextmanager
    def limit(self, seconds: float) -> Iterator[None]:
        """Raise OutOfTime when the seconds are over, as soon as Python gets to it.

        The alarm of the operating system rings by the time; where less was worked meanwhile, it is set again. (Its
        alarm for processor time counts all threads.) Only the main thread has it: elsewhere, there is no limit.
        """
        if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
            yield
            return
        over = self.now() + seconds

        def left() -> float:
            return min(over - self.now(), self.deadline - self.wall())

        def ring(number: int, frame: FrameType | None) -> None:
            if left() <= 0:
                raise OutOfTime
            signal.setitimer(signal.ITIMER_REAL, max(SOON, left()))

        before = signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, max(1e-3, left()))
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
