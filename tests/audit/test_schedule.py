"""What is expected of the steps that are left, after some of them are done."""

import pytest
import torch

from clocks import VirtualClock
from hideseek.audit.findings.attacks import PlannedAttack
from hideseek.audit.findings.looks import Look
from hideseek.audit.planning.budget import Step
from hideseek.audit.planning.plan import Plan
from hideseek.audit.question import Question
from hideseek.audit.schedule import Schedule
from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import Laplace
from hideseek.records.result import Outcome, Proof, StepKey, StepKind
from trial_attacks import Counted, Minor


def key(name: str) -> StepKey:
    return StepKey(StepKind.ATTACK, "noise", name)


def after(outcome: Outcome, proving: float, judging: float) -> Step:
    """Give the second step as it is expected after the first: proofs were to take 10 seconds each, judging 20."""
    faces = normalise(load("faces").take(torch.arange(0, 160, 8)), "channel")
    question = Question(faces, {"noise": Laplace(alpha=0.02)}, attacks={"first": Counted(), "second": Minor()})
    steps = tuple(Step(key(name), fixed=20.0, least=1.0, full=1.0, proof=10.0) for name in ("first", "second"))
    schedule = Schedule(question, Plan(steps, {}, 1e-12, budget=1000.0), VirtualClock())
    passed = outcome is not Outcome.WITHHELD
    release, _ = question.schemes["noise"].hide(faces, None, seeded(0))
    planned = PlannedAttack("first", Counted(), 10.0)
    result = planned.result(release, outcome, proofs=(Proof("weak case", passed=passed),), seconds=1.0 * passed)
    schedule.looked(key("first"), Look(result, 1e12, True, proving + judging + 1.0 * passed, proving))
    step = schedule.share(key("second"))
    assert step is not None
    return step


@pytest.mark.parametrize("outcome", [Outcome.BROKEN, Outcome.LEAKS, Outcome.RESISTED])
def test_proofs_and_judging_are_each_expected_to_take_what_they_took(outcome: Outcome) -> None:
    step = after(outcome, proving=15.0, judging=4.0)
    assert [step.proof, step.fixed] == pytest.approx([15.0, 4.0])


def test_an_attack_that_is_withheld_makes_others_no_cheaper() -> None:
    """It failed in its first proof, and was not judged at all."""
    step = after(Outcome.WITHHELD, proving=3.0, judging=0.0)
    assert (step.proof, step.fixed) == (10.0, 20.0)
