"""Sharing out the time of an audit."""

import numpy as np
import pytest

from hideseek.audit.planning.budget import Step, allocate
from hideseek.errors import BadInput
from hideseek.records.result import StepKey, StepKind

HIDE, ACCURACY = StepKey(StepKind.HIDE, "a"), StepKey(StepKind.ACCURACY)


def attack(name: str, fixed: float, least: float, full: float) -> Step:
    return Step(StepKey(StepKind.ATTACK, "a", name), fixed, least, full)


def steps(seed: int) -> list[Step]:
    generator = np.random.default_rng(seed)
    made = [Step(HIDE, 0.5), Step(ACCURACY, 1.0, 3.0, 90.0)]
    for number in range(8):
        fixed, least, more = generator.exponential([2.0, 3.0, 40.0])
        made.append(attack(str(number), fixed, least, least + more))
    return made


@pytest.mark.parametrize("seed", range(5))
def test_what_is_planned_fits_the_budget(seed: int) -> None:
    whole = steps(seed)
    for budget in np.geomspace(10, 2000, 30):
        shared = allocate(whole, budget)
        assert [step.key for step in shared] == [step.key for step in whole]
        assert sum(step.expected for step in shared) <= budget * (1 + 1e-9)
        kept = [step for step in shared if not step.left_out]
        assert all(step.least <= step.scaled <= step.full * (1 + 1e-9) for step in kept)
        cut = [step for step in kept if step.key != ACCURACY and step.share < 1 and step.scaled > step.least]
        assert np.ptp([step.scaled for step in cut] or [0]) < 1e-6  # no attack is favoured …
        whole_ones = [step.full for step in kept if step.key != ACCURACY and step.share == 1]
        assert not cut or max(whole_ones, default=0) <= cut[0].scaled + 1e-6  # … and none is cut that needs less
    assert all(step.share == 1 and not step.left_out for step in allocate(whole, 1e6))


def test_more_time_leaves_nothing_out_that_less_time_had() -> None:
    before: set[StepKey] = set()
    for budget in np.geomspace(10, 500, 40):
        kept = {step.key for step in allocate(steps(0), budget) if not step.left_out}
        assert before <= kept
        before = kept


def test_training_takes_what_attacks_leave_or_a_quarter() -> None:
    whole = [Step(ACCURACY, 0, 1, 100), attack("x", 0, 1, 40)]
    assert [step.expected for step in allocate(whole, 100)] == pytest.approx([60, 40])
    assert [step.expected for step in allocate(whole, 42)] == pytest.approx([1 + 10.5, 42 - 11.5])
    assert [step.expected for step in allocate(whole, 300)] == [100, 40]


def test_the_costliest_is_left_out_first() -> None:
    whole = [Step(HIDE, 1), attack("x", 0, 2, 9), attack("y", 0, 7, 9)]
    assert [step.left_out for step in allocate(whole, 9)] == [False, False, True]


def test_a_budget_too_small_for_anything_says_the_least_that_works() -> None:
    whole = [Step(HIDE, 1), attack("x", 1, 2, 9), attack("y", 0, 70, 90)]
    with pytest.raises(
        BadInput, match=r"a budget of 3.0 s is too small .* least that works is 4.4 s; give a larger budget"
    ):
        allocate(whole, 3)
    assert not allocate(whole, 5)[1].left_out  # and it does
    assert allocate([whole[0]], 0.5)  # no attack applies: there is nothing to be too small for
