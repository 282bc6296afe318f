"""A limit of time."""

import signal
import threading
import time

import pytest

from hideseek.audit.planning.clock import OutOfTime, WallClock


def test_what_takes_too_long_is_stopped_and_what_does_not_is_left_alone() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(OutOfTime), WallClock().limit(0.2):
        while True:
            time.sleep(0.001)
    with WallClock().limit(300):
        pass
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    assert signal.getsignal(signal.SIGALRM) is before


def test_other_threads_have_no_limit() -> None:
    ended = []

    def work() -> None:
        with WallClock().limit(0.01):
            time.sleep(0.05)
        ended.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert ended == [True]
