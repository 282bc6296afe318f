"""Seconds of work, the time, and limits of both."""

import signal
import threading
import time

import pytest

from clocks import VirtualClock
from hideseek.audit.planning.clock import OutOfTime, ProcessClock


def test_work_is_counted_and_waiting_is_not() -> None:
    clock = ProcessClock()
    worked, told = clock.now(), clock.wall()
    time.sleep(0.2)
    assert clock.wall() - told >= 0.2
    assert clock.now() - worked < 0.1
    used = time.thread_time()
    sum(range(1_000_000))
    assert clock.now() - worked >= time.thread_time() - used > 0


def test_what_works_too_long_is_stopped_and_what_does_not_is_left_alone() -> None:
    before, clock = signal.getsignal(signal.SIGALRM), ProcessClock()
    worked = clock.now()
    with pytest.raises(OutOfTime), clock.limit(0.2):
        while True:
            pass
    assert clock.now() - worked >= 0.2
    with clock.limit(0.1):
        time.sleep(0.3)  # which is no work
    with clock.limit(300):
        pass
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    assert signal.getsignal(signal.SIGALRM) is before


def test_waiting_is_stopped_at_the_deadline() -> None:
    clock = ProcessClock()
    clock.deadline = clock.wall() + 0.1
    with pytest.raises(OutOfTime), clock.limit(300):
        while True:
            time.sleep(0.001)
    assert ProcessClock.deadline == float("inf")


def test_other_threads_have_no_limit() -> None:
    ended = []

    def work() -> None:
        with ProcessClock().limit(0.01):
            time.sleep(0.05)
        ended.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert ended == [True]


def test_the_clock_of_tests_stops_by_work_and_by_the_deadline() -> None:
    clock = VirtualClock(busy=3)
    clock.advance(2)
    assert (clock.now(), clock.wall()) == (2, 6)
    with pytest.raises(OutOfTime), clock.limit(5):
        clock.advance(100)
    assert (clock.now(), clock.wall()) == (7, 21)
    clock.deadline = 30
    with pytest.raises(OutOfTime), clock.limit(5):
        clock.advance(100)
    assert (clock.now(), clock.wall()) == (10, 30)
    clock.advance(1)  # what has no limit goes on
    assert clock.now() == 11
