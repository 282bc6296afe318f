import numpy as np
import pytest
import torch

from hideseek.seek.systems.leading_vectors import leading_vectors
from hideseek.seek.systems.mixtures import Mixtures
from hideseek.seek.systems.square_kernel import pair_products

SIZE, PLACES = 9, 150  # places that are no multiple of a piece


def matrices(seed: int = 0) -> torch.Tensor:
    values = torch.from_numpy(np.random.default_rng(seed).standard_normal((PLACES, SIZE, SIZE), dtype=np.float32))
    return values + values.mT


def test_vectors_are_those_of_the_largest_eigenvalues() -> None:
    many = matrices()
    start = torch.from_numpy(np.random.default_rng(1).standard_normal((SIZE, PLACES), dtype=np.float32))
    found = leading_vectors(lambda vectors: torch.einsum("pij,jp->ip", many, vectors), start, 20)
    expected = torch.linalg.eigh(many)[1][..., -1].T
    torch.testing.assert_close((found * expected).sum(0).abs(), torch.ones(PLACES), atol=1e-3, rtol=0)


@pytest.mark.parametrize("scale", [0.0, -1.0])
def test_a_space_that_ends_gives_what_it_has(scale: float) -> None:
    """Where every vector is an eigenvector, or all products vanish, the start is the answer."""
    start = torch.ones(SIZE, 2)
    found = leading_vectors(lambda vectors: scale * vectors, start, 5)
    torch.testing.assert_close(found, start / 3)


def test_products_with_pairs_leave_out_the_diagonal() -> None:
    chance = np.random.default_rng(0)
    rows, images = 20, 6
    sources = np.stack([chance.permutation(images)[:3] for _ in range(rows)])
    weights, above, vectors = (
        chance.standard_normal(shape, dtype=np.float32) for shape in ((rows, 3), (rows, PLACES), (images, PLACES))
    )
    matrix = Mixtures(torch.from_numpy(sources), torch.from_numpy(weights), images).mixed(torch.eye(images)).numpy()
    outer = matrix[:, :, None] * matrix[:, None] * (1 - np.eye(images))
    expected = np.einsum("rp,rij,jp->ip", above, outer, vectors)
    found = np.empty_like(vectors)
    pair_products(above, sources, weights, vectors, found)
    np.testing.assert_allclose(found, expected, atol=1e-4)
