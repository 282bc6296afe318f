"""Which images are mixed: for every k, all different, and as likely as each other, with stated error rates."""

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
import torch
from scipy import stats

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide.mixing.partners import partners, public_partners

ERROR = 1e-6


def check(count: int, k: int) -> None:
    sources = partners(count, k, seeded(count * k))
    assert torch.equal(sources[:, 0], torch.arange(count))
    assert torch.equal(sources.sort(0).values, torch.arange(count)[:, None].expand(count, k))
    assert (sources.sort(1).values.diff(dim=1) != 0).all()


def test_every_small_set_has_partners_for_every_k() -> None:
    for count in range(2, 41):
        for k in range(1, count + 1):
            check(count, k)


@pytest.mark.parametrize(
    ("count", "k"),
    [(160, 24), (160, 32), (160, 48), (160, 80), (160, 159), (160, 160), (3000, 4), (5000, 50), (1000, 500)],
)
def test_larger_sets_have_partners_for_middling_k(count: int, k: int) -> None:
    check(count, k)


def test_more_than_there_is_and_more_than_can_be_drawn_are_refused() -> None:
    with pytest.raises(BadInput, match="k = 6 images cannot differ when there are 5"):
        partners(5, 6, seeded(0))
    with pytest.raises(BadInput, match="too much to draw: lower k"):
        partners(60_000, 60_000, seeded(0))
    with pytest.raises(BadInput, match="too much to draw: mix fewer"):
        public_partners(60_000, 60_000, 6_000, seeded(0))


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


@pytest.mark.parametrize(("count", "k"), [(4, 3), (5, 3), (5, 4), (5, 5), (16, 3)])
def test_each_row_is_a_uniform_draw_of_different_images(count: int, k: int) -> None:
    """The sources of one row, in their order: every choice without repeats is as likely as every other."""
    chance = seeded(7)
    others = list(permutations(range(1, count), k - 1))
    rounds = 30 * max(len(others), 100)
    seen = Counter(tuple(partners(count, k, chance)[0, 1:].tolist()) for _ in range(rounds))
    assert stats.chisquare([seen[choice] for choice in others]).pvalue > ERROR


@pytest.mark.parametrize(("available", "k"), [(4, 2), (5, 2), (6, 3), (5, 3), (4, 4)])
def test_public_partners_are_a_uniform_draw_of_different_images(available: int, k: int) -> None:
    """Drawn again where they repeat (at most half of the set), and by orders (more)."""
    choices = list(permutations(range(available), k))
    seen = Counter(map(tuple, public_partners(100 * len(choices), available, k, seeded(8)).tolist()))
    assert stats.chisquare([seen[choice] for choice in choices]).pvalue > ERROR


@pytest.mark.parametrize(("available", "k"), [(100, 25), (1000, 250), (1000, 499), (1000, 501), (300, 300)])
def test_public_partners_are_found_for_middling_k(available: int, k: int) -> None:
    drawn = public_partners(200, available, k, seeded(9))
    assert drawn.shape == (200, k)
    assert (drawn.sort(1).values.diff(dim=1) != 0).all()
    assert int(drawn.min()) >= 0
    assert int(drawn.max()) < available


def test_no_public_partner_needs_no_public_set() -> None:
    assert public_partners(3, 0, 0, seeded(0)).shape == (3, 0)
