"""Which images are mixed, and with what weights: against brute force, with stated error rates."""

from collections import Counter

import numpy as np
import pytest
import torch
from scipy import stats

from hideseek.chance import seeded
from hideseek.hide.mixing.draws import Law, coefficients, partners, public_partners

ERROR = 1e-6


@pytest.mark.parametrize(("count", "k"), [(2, 2), (4, 4), (6, 6), (9, 9), (13, 7), (100, 6), (3000, 4), (5, 1)])
def test_partners_are_permutations_that_never_clash(count: int, k: int) -> None:
    sources = partners(count, k, seeded(0))
    assert torch.equal(sources[:, 0], torch.arange(count))
    assert torch.equal(sources.sort(0).values, torch.arange(count)[:, None].expand(count, k))
    assert (sources.sort(1).values.diff(dim=1) != 0).all()


@pytest.mark.parametrize(("count", "k"), [(5, 3), (30, 4)], ids=["small set", "larger set"])
def test_every_partner_is_equally_likely(count: int, k: int) -> None:
    chance = seeded(1)
    rounds = 4000
    seen = np.zeros((k - 1, count, count))
    for _ in range(rounds):
        drawn = partners(count, k, chance)
        for j in range(1, k):
            seen[j - 1, torch.arange(count), drawn[:, j]] += 1
    for counts in seen:
        off_diagonal = counts[~np.eye(count, dtype=bool)]
        assert counts.trace() == 0
        # Rows and columns are tied to sums, so the statistic has fewer degrees of freedom, never more.
        statistic = ((off_diagonal - rounds / (count - 1)) ** 2 / (rounds / (count - 1))).sum()
        assert stats.chi2(len(off_diagonal)).sf(statistic) > ERROR


def test_second_images_are_uniform_derangements() -> None:
    chance = seeded(2)
    seen = Counter(tuple(partners(4, 2, chance)[:, 1].tolist()) for _ in range(9000))
    assert len(seen) == 9
    assert stats.chisquare(list(seen.values())).pvalue > ERROR


@pytest.mark.parametrize(("available", "k"), [(3, 3), (6, 4), (100, 4)])
def test_public_partners_differ_within_a_row_and_are_uniform(available: int, k: int) -> None:
    drawn = public_partners(20_000, available, k, seeded(3))
    assert (drawn.sort(1).values.diff(dim=1) != 0).all()
    for column in drawn.T:
        assert stats.chisquare(np.bincount(column.numpy(), minlength=available)).pvalue > ERROR


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
