"""Sharing out the time of an audit."""

from dataclasses import replace

import numpy as np
import pytest

from hideseek.audit.planning.budget import Step, allocate
from hideseek.records.result import StepKey, StepKind

HIDE, ACCURACY = StepKey(StepKind.HIDE, "a"), StepKey(StepKind.ACCURACY)


def attack(name: str, fixed: float, least: float, full: float) -> Step:
    return Step(StepKey(StepKind.ATTACK, "a", name), fixed, least, full)


def steps(seed: int) -> list[Step]:
    generator = np.random.default_rng(seed)
    made = [Step(HIDE, 0.5, must=True), Step(ACCURACY, 1.0, 3.0, 90.0, must=True)]
    for number in range(8):
        fixed, least, more = generator.exponential([2.0, 3.0, 40.0])
        made.append(attack(str(number), fixed, least, least + more))
    return made


@pytest.mark.parametrize("seed", range(5))
def test_what_is_planned_fits_the_budget(seed: int) -> None:
    whole = steps(seed)
    for budget in np.geomspace(10, 2000, 30):
        shared = allocate(whole, budget, budget / 4)
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


def test_training_takes_what_attacks_leave_or_what_is_reserved() -> None:
    whole = [Step(ACCURACY, 0, 1, 100, must=True), attack("x", 0, 1, 40)]
    assert [step.expected for step in allocate(whole, 100, 25)] == pytest.approx([60, 40])
    assert [step.expected for step in allocate(whole, 42, 10.5)] == pytest.approx([1 + 10.5, 42 - 11.5])
    assert [step.expected for step in allocate(whole, 300, 75)] == [100, 40]


def test_later_looks_are_left_out_first_then_the_costliest() -> None:
    whole = [Step(HIDE, 1, must=True), attack("x", 0, 2, 9), attack("y", 0, 7, 9)]
    assert [step.left_out for step in allocate(whole, 9)] == [False, False, True]
    again = replace(attack("z", 0, 1, 4), again=True)
    assert [step.left_out for step in allocate([*whole, again], 10.5)] == [False, False, False, True]
    assert [step.left_out for step in allocate([*whole, again], 11)] == [False, False, False, False]


@pytest.mark.parametrize("left", [-50.0, 0.0, 3.0])
def test_what_must_be_done_is_done_with_its_least_settings(left: float) -> None:
    whole = [Step(HIDE, 1, must=True), replace(attack("x", 1, 2, 9), must=True), attack("y", 0, 1, 90)]
    shared = allocate(whole, left)
    assert [(step.left_out, step.expected) for step in shared] == [(False, 1), (False, 3), (True, 0)]


def test_the_strongest_attacks_may_go_beyond_the_budget_some_way() -> None:
    whole = [replace(attack(name, 0, 4, 9), strongest=True) for name in "xyz"]
    whole[0] = replace(whole[0], must=True)
    assert [step.left_out for step in allocate([*whole, attack("weak", 0, 1, 2)], 8, overrun=4)] == [False] * 3 + [True]
    assert [step.expected for step in allocate(whole, 8, overrun=4)] == [4, 4, 4]
    assert [step.left_out for step in allocate(whole, 8, overrun=3)].count(True) == 1
    assert [step.left_out for step in allocate(whole, -9, overrun=4)] == [False, True, True]


def test_attacks_that_need_not_run_leave_training_what_is_reserved() -> None:
    whole = [Step(ACCURACY, 0, 1, 100, must=True), attack("x", 0, 4, 40), attack("y", 0, 5, 40)]
    training, x, y = allocate(whole, 12, 3)
    assert (training.expected, x.expected, y.left_out) == pytest.approx((4, 8, True))
    must = [whole[0], *(replace(step, must=True) for step in whole[1:])]
    assert [step.expected for step in allocate(must, 10, 3, overrun=2)] == [1 + 2, 4, 5]


def test_proofs_are_a_part_of_what_a_step_takes() -> None:
    step = replace(attack("x", 1, 2, 9), proof=4)
    assert (step.smallest, step.expected) == (7, 14)
    assert allocate([step], 6)[0].left_out
