"""With what weights images are mixed: against brute force, with stated error rates."""

import numpy as np
import pytest
import torch
from scipy import stats

from hideseek.chance import seeded
from hideseek.hide.mixing.draws import Law, coefficients

ERROR = 1e-6


def reference(law: Law, k: int, rows: int, largest: float, private: int, share: float) -> np.ndarray:
    """The same law by NumPy's generator, one row at a time, thrown away where it breaks a bound."""
    generator = np.random.default_rng(0)
    kept: list[np.ndarray] = []
    while len(kept) < rows:
        if law == "uniform":
            row = generator.random(k)
        elif law == "half-normal":
            row = np.abs(generator.standard_normal(k))
        else:
            row = generator.dirichlet([3.0] + [1.0] * (k - 1))
        row = row / row.sum()
        if row.max() <= largest and row[:private].sum() >= share:
            kept.append(row)
    return np.stack(kept)


@pytest.mark.parametrize("law", ["uniform", "half-normal", "dirichlet"])
@pytest.mark.parametrize(
    ("k", "largest", "private", "share"), [(2, 0.65, 2, 0.3), (4, 0.65, 2, 0.3), (6, 0.65, 2, 0.6), (3, 1.0, 3, 0.0)]
)
def test_coefficients_have_their_law(law: Law, k: int, largest: float, private: int, share: float) -> None:
    drawn = coefficients(20_000, k, seeded(4), law, largest, private, share).double().numpy()
    np.testing.assert_allclose(drawn.sum(1), 1, atol=1e-6)
    assert drawn.max() <= largest + 1e-6
    assert (drawn[:, :private].sum(1) >= share - 1e-6).all()
    expected = reference(law, k, 8_000, largest, private, share)
    for ours, theirs in [*zip(drawn.T, expected.T, strict=True), (drawn.max(1), expected.max(1))]:
        assert stats.ks_2samp(ours, theirs).pvalue > ERROR


@pytest.mark.parametrize(("k", "share"), [(2, 0.46), (4, 0.97)])
def test_how_many_draws_keep_to_the_bound(k: int, share: float) -> None:
    free = coefficients(100_000, k, seeded(5))
    assert float((free.max(1).values <= 0.65).double().mean()) == pytest.approx(share, abs=0.01)


def test_one_image_has_all_the_weight() -> None:
    assert torch.equal(coefficients(5, 1, seeded(6)), torch.ones(5, 1))
