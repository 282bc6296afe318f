"""A limit of time for work that does not watch the clock itself."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class OutOfTime(Exception):  # noqa: N818 (what it says, not that it is an error)
    """The time that was given is over."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise OutOfTime in what runs here when the seconds are over, as soon as Python has a word.

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
