"""What would help, measured for as long as there is time."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
import torch

from clocks import VirtualClock
from hideseek.audit.belief.advice import advise
from hideseek.audit.findings.attacks import PlannedAttack, run_attack
from hideseek.audit.question import Question
from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import Laplace
from hideseek.records import Change
from hideseek.records.encoder import ChangeKind
from hideseek.records.result import Advice, FailureKind
from trial_attacks import Counted


@dataclass(frozen=True)
class FourChanges(Laplace, mechanism="laplace-of-four-changes"):
    """Add noise, of which more would help, four times."""

    def stronger(self, rounds: int) -> Iterator[tuple[Change, Laplace, int]]:
        for times in (2.0, 3.0, 4.0, 5.0):
            yield Change(ChangeKind.MORE_NOISE, "alpha", 1.0, times), Laplace(alpha=self.alpha), rounds


def told(
    seconds: float, monkeypatch: pytest.MonkeyPatch, exposed: tuple[int, ...] = ()
) -> tuple[tuple[Advice, ...], float]:
    """Measure changes of ten seconds each."""
    faces = normalise(load("faces").take(torch.arange(0, 160, 8)), "channel")
    scheme, clock = FourChanges(alpha=0.02), VirtualClock()
    monkeypatch.setattr(Counted, "clock", clock)
    question = Question(faces, {"noise": scheme}, attacks={"a": Counted(rows=10)})
    planned = PlannedAttack("a", Counted(rows=10), 1000.0)
    release, secret = scheme.hide(faces, None, seeded(0))
    worst = run_attack(replace(planned, attack=Counted(rows=1)), release, secret, (), seeded(0), clock)
    started = clock.now()
    found = advise(scheme, worst, planned, question, seeded(1), clock, seconds, exposed)
    return found, clock.now() - started


@pytest.mark.usefixtures("without_lpips")
@pytest.mark.parametrize(("seconds", "measured"), [(1.0, 1), (15.0, 1), (25.0, 2), (40.0, 4), (1e9, 4)])
def test_changes_that_there_is_no_time_for_are_named(
    seconds: float, measured: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, took = told(seconds, monkeypatch)
    assert took == 10 * measured
    assert [each.change.after for each in found] == [2.0, 3.0, 4.0, 5.0]
    kinds = [each.failure.kind if each.failure else None for each in found]
    assert kinds == [None] * measured + [FailureKind.NO_TIME] * (4 - measured)


@pytest.mark.usefixtures("without_lpips")
@pytest.mark.parametrize(("seconds", "measured"), [(40.0, False), (1e9, True)])
def test_leaving_out_the_most_exposed_images_is_measured_last(
    seconds: float, measured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    *_, last = told(seconds, monkeypatch, (3, 5))[0]
    assert (last.change.kind, last.change.before, last.change.after) == (ChangeKind.LEAVE_OUT, 20, 18)
    assert (last.failure is None) is measured
    if measured:
        assert last.after is not None
        assert last.before is not None
        assert last.helps is not None


def test_more_than_half_of_the_images_are_not_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = told(1.0, monkeypatch, tuple(range(11)))
    assert [each.change.kind for each in found] == [ChangeKind.MORE_NOISE] * 4
