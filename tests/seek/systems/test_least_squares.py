"""Three ways to solve a ridge regression, against the formula."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from hideseek.hide import Mixup
from hideseek.seek.systems import least_squares
from linear_systems import dense, released
from toys import images


@pytest.mark.parametrize(("k", "rounds"), [(2, 1), (3, 1), (2, 3)])
def test_all_three_solvers_against_the_formula(k: int, rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
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
    np.testing.assert_allclose(least_squares.ridge(sparse)(right, penalties), expected, atol=1e-9)
    np.testing.assert_allclose(least_squares._eliminated(sparse)(right, penalties), expected, atol=1e-9)
    monkeypatch.setattr(least_squares, "DENSE", 1)
    np.testing.assert_allclose(least_squares._descended(sparse, right, penalties), expected, atol=1e-5)
    assert np.isfinite(least_squares._descended(sparse, np.zeros_like(right), penalties)).all()
