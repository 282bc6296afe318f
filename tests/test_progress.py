"""Progress is shown to people at a terminal, after two seconds, and to nobody else."""

import sys
from io import StringIO

import pytest

from hideseek import progress


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_items_pass_through_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (StringIO(), Terminal()):
        monkeypatch.setattr(sys, "stderr", stream)
        assert list(progress.track(iter("abc"), "letters", total=3)) == ["a", "b", "c"]


def test_quick_work_shows_nothing_and_slow_work_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    shown = []
    for delay in (1000.0, -1.0):
        monkeypatch.setattr(progress, "DELAY", delay)
        monkeypatch.setattr(sys, "stderr", terminal := Terminal())
        list(progress.track([1, 2, 3], "counting"))
        shown.append(terminal.getvalue())
    assert "counting" not in shown[0]
    assert "counting" in shown[1]
    assert "3/3" in shown[1]


def test_names_cannot_control_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "DELAY", -1.0)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    list(progress.track([1], "a\x07[b]\u202e"))
    with progress.meter(1) as show:
        show(1, "b\x07[c]")
    assert "a\\x07[b]\\u202e" in terminal.getvalue()
    assert "b\\x07[c]" in terminal.getvalue()
    assert "\x07" not in terminal.getvalue()


def test_a_file_gets_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY", -1.0)
    monkeypatch.setattr(sys, "stderr", stream := StringIO())
    list(progress.track([1, 2, 3], "counting"))
    assert stream.getvalue() == ""
