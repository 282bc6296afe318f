import itertools

import numpy as np
import pytest

from hideseek.seek.systems.byte_solutions import byte_solutions, expected_solutions

GENERATOR = np.random.default_rng(0)


def all_pairs(target: float, weights: np.ndarray, tolerance: float) -> set[tuple[int, ...]]:
    """Every choice of bytes, one by one; of three, the last is what is left."""
    found = set()
    for head in itertools.product(range(256), repeat=len(weights) - 1):
        last = (target - np.dot(weights[:-1], head)) / weights[-1]
        for byte in {int(np.floor(last)), int(np.ceil(last))}:
            if 0 <= byte <= 255 and abs(target - np.dot(weights, (*head, byte))) <= tolerance:
                found.add((*head, byte))
    return found


@pytest.mark.parametrize("weights", [(0.61, 0.39), (0.2, 0.8), (0.5, 0.31, 0.19)])
def test_solutions_are_those_of_trying_all_bytes(weights: tuple[float, ...]) -> None:
    given = np.array(weights) + 1e-4 * GENERATOR.random(len(weights))
    truth = GENERATOR.integers(0, 256, (4, len(weights)))
    tolerance = 2e-3 if len(weights) == 2 else 1e-5
    found = byte_solutions((truth @ given)[None], given, np.full(4, tolerance), room=2000)
    assert found.lost == 0
    for pixel, target in enumerate(truth @ given):
        values = {tuple(each) for each in found.values[pixel, : found.counts[pixel]].tolist()}
        assert values == all_pairs(target, given, tolerance)
        assert tuple(truth[pixel].tolist()) in values
        errors = target - found.values[pixel, : found.counts[pixel]] @ given
        assert np.allclose(found.errors[pixel, : found.counts[pixel]], errors, atol=1e-12)


def test_one_image_is_a_division() -> None:
    found = byte_solutions(np.array([[0.3 * 200, 0.3 * 7.5]]), np.array([0.3]), np.full(2, 1e-6), room=4)
    assert found.counts.tolist() == [1, 0]
    assert found.values[0, 0].tolist() == [200]


def test_either_target_may_hold_and_room_may_run_out() -> None:
    weights = np.array([0.7, 0.3])
    targets = np.array([[0.7 * 10 + 0.3 * 20], [0.7 * 90 + 0.3 * 33]])
    both = byte_solutions(targets, weights, np.full(1, 1e-6), room=300)
    sides = both.sides[0, : both.counts[0]]
    assert set(sides.tolist()) == {0, 1}
    few = byte_solutions(targets, weights, np.full(1, 1e-6), room=2)
    assert (few.counts[0], few.lost) == (2, both.counts[0] - 2)


def test_so_many_solutions_are_there_by_chance() -> None:
    weights = np.array([0.437, 0.352, 0.211]) + 1e-3 * GENERATOR.random(3)
    targets = GENERATOR.uniform(0, 255 * weights.sum(), 300)
    found = byte_solutions(targets[None], weights, np.full(300, 1e-5), room=100)
    assert found.counts.mean() == pytest.approx(expected_solutions(weights, 1e-5), rel=0.25)


def test_any_tolerance_and_targets_that_are_no_numbers() -> None:
    """An index that is too large for an int would be read from anywhere."""
    found = byte_solutions(
        np.array([[1.0, np.nan, np.inf]]), np.array([0.05, 0.95]), np.array([1e34, 1.0, 1.0]), room=9
    )
    assert found.counts.tolist() == [9, 0, 0]
    assert found.lost == 256**2 - 9
