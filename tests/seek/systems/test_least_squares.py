"""Four ways to solve a ridge regression, against the formula."""

from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array

from hideseek.hide import Mixup
from hideseek.seek.systems import least_squares
from hideseek.seek.systems.descent_kernel import descended
from hideseek.seek.systems.ring_kernel import rings_of
from linear_systems import dense, released
from toys import images


@pytest.mark.parametrize(("k", "rounds"), [(2, 1), (3, 1), (2, 3)])
def test_all_solvers_against_the_formula(k: int, rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = dense(released(Mixup(k=k), images(25), rounds=rounds))
    right = np.random.default_rng(0).standard_normal((25 * rounds, 6))
    penalties = np.array([1e-3, 1e-2, 1e-2, 0.1, 1.0, 1e3])
    expected = np.stack(
        [
            np.linalg.solve(matrix.T @ matrix + p * np.eye(25), matrix.T @ y)
            for p, y in zip(penalties, right.T, strict=True)
        ],
        axis=1,
    )
    sparse = csr_array(matrix)
    descend = partial(descended, steps=least_squares.STEPS, tolerance=least_squares.TOLERANCE)
    np.testing.assert_allclose(least_squares.ridge(sparse)(right, penalties), expected, atol=1e-9)
    np.testing.assert_allclose(least_squares._eliminated(sparse)(right, penalties), expected, atol=1e-9)
    monkeypatch.setattr(least_squares, "DENSE", 1)
    monkeypatch.setattr(least_squares, "rings_of", lambda _: None)
    np.testing.assert_allclose(least_squares.ridge(sparse)(right, penalties), expected, atol=1e-5)
    np.testing.assert_allclose(descend(sparse, right, penalties), expected, atol=1e-5)
    assert np.isfinite(descend(sparse, np.zeros_like(right), penalties)).all()


def test_columns_that_are_done_stay_as_they_are() -> None:
    """A large penalty is done in two steps; hundreds more, at the level of rounding, would make directions grow."""
    matrix = csr_array(dense(released(Mixup(k=2), images(200), rounds=2)))
    right = np.random.default_rng(0).standard_normal((400, 20))
    penalties = np.geomspace(1e-6, 1e4, 20)
    found = descended(matrix, right, penalties, steps=1000, tolerance=1e-9)
    full = matrix.toarray()
    for column, penalty in enumerate(penalties):
        expected = np.linalg.solve(full.T @ full + penalty * np.eye(200), full.T @ right[:, column])
        np.testing.assert_allclose(found[:, column], expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


def test_rings_of_every_length() -> None:
    """Images by themselves, in twos, and in rings of three and seven; columns beyond a thread's group."""
    cycles, weights = [(0,), (1, 2), (3, 4, 5), (6, 7, 8, 9, 10, 11, 12)], np.random.default_rng(1)
    matrix = np.zeros((13, 13))
    for cycle in cycles:
        for place, image in enumerate(cycle):
            share = weights.uniform(0.35, 0.65)
            matrix[image, image] += share
            matrix[image, cycle[(place + 1) % len(cycle)]] += 1 - share
    matrix = matrix[weights.permutation(13)]
    rings = rings_of(csr_array(matrix))
    assert rings is not None
    assert sorted(np.diff(rings.starts).tolist()) == [1, 2, 3, 7]
    right, penalties = weights.standard_normal((13, 40)), np.geomspace(1e-4, 10, 40)
    expected = [
        np.linalg.solve(matrix.T @ matrix + p * np.eye(13), matrix.T @ y)
        for p, y in zip(penalties, right.T, strict=True)
    ]
    np.testing.assert_allclose(rings.solve(right, penalties), np.stack(expected, 1), atol=1e-10)


def test_a_near_singular_ring_keeps_its_digits() -> None:
    """Equal weights on an even ring: W'W has an eigenvalue of 0, and a penalty of 1e-13 leaves the shortest answer."""
    matrix = 0.5 * (np.eye(8) + np.roll(np.eye(8), 1, axis=1))
    rings = rings_of(csr_array(matrix))
    assert rings is not None
    truth = np.random.default_rng(0).standard_normal((8, 3))
    truth -= (-1.0) ** np.arange(8)[:, None] * (truth * (-1.0) ** np.arange(8)[:, None]).mean(0)
    np.testing.assert_allclose(rings.solve(matrix @ truth, np.full(3, 1e-13)), truth, atol=1e-4)


def test_what_is_no_ring_is_told() -> None:
    chain = np.eye(4) + np.eye(4, k=1)  # the last image is in two rows, the first in one
    star = np.array([[0.5, 0.5, 0], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    for matrix in (chain, star, np.ones((3, 3)), np.ones((2, 3)), np.ones((4, 2))):
        assert rings_of(csr_array(matrix)) is None
