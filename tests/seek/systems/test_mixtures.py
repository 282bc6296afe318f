import numpy as np
import pytest
import torch

from hideseek.seek.systems import mixture_solve
from hideseek.seek.systems.mixture_solve import solved
from hideseek.seek.systems.mixtures import Mixtures


def drawn(rows: int = 11, images: int = 5, k: int = 3) -> tuple[Mixtures, np.ndarray]:
    """Mixtures, one image twice in a row and one in none, and their matrix, entry by entry."""
    chance = np.random.default_rng(0)
    sources, weights = chance.integers(0, images - 1, (rows, k)), chance.random((rows, k), np.float32)
    sources[0] = 2
    matrix = np.zeros((rows, images))
    for (row, place), source in np.ndenumerate(sources):
        matrix[row, source] += weights[row, place]
    return Mixtures(torch.from_numpy(sources), torch.from_numpy(weights), images), matrix


def test_products_are_those_of_the_matrix() -> None:
    mixtures, matrix = drawn()
    chance = np.random.default_rng(1)
    images, rows = chance.random((5, 7), np.float32), chance.random((11, 7), np.float32)
    each = chance.random(11, np.float32)
    np.testing.assert_allclose(mixtures.mixed(torch.from_numpy(images)), matrix @ images, rtol=1e-5)
    np.testing.assert_allclose(mixtures.gathered(torch.from_numpy(rows)), matrix.T @ rows, rtol=1e-5)
    np.testing.assert_allclose(mixtures.products(torch.from_numpy(each)), (matrix.T * each) @ matrix, rtol=1e-5)


def test_some_rows_are_those_rows() -> None:
    mixtures, matrix = drawn()
    images = torch.eye(5)
    np.testing.assert_allclose(mixtures.some(slice(3, 6)).mixed(images), matrix[3:6], rtol=1e-6)


def test_solving_without_a_factor_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    mixtures, _ = drawn()
    apart = Mixtures(torch.tensor([[0, 1], [1, 2], [3, 4], [2, 4], [0, 3]]), torch.rand(5, 2) + 0.1, 5)
    for each in (mixtures, apart):
        right, weights = torch.randn(5, 300), torch.rand(len(each.sources)) + 0.5
        exact, spread = solved(each, weights, 0.7, right)
        inside = each.products(weights).numpy() + 0.7 * np.eye(5)
        np.testing.assert_allclose(exact, np.linalg.solve(inside, right.numpy()), rtol=1e-3, atol=1e-4)
        assert spread == pytest.approx(float(np.linalg.inv(inside).diagonal().mean()), rel=1e-5)
        with monkeypatch.context() as patch:
            patch.setattr(mixture_solve, "DENSE", 1)
            found, _ = solved(each, weights, 0.7, right)
        np.testing.assert_allclose(found, exact, rtol=1e-2, atol=1e-3)
