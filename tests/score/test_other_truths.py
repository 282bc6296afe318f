"""Other truths: what they keep, that all are as likely, and p-values among them."""

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
import scipy.stats
import torch

from hideseek.chance import seeded
from hideseek.hide import Mixup
from hideseek.score.other_truths import OtherTruths, beyond
from score.updates import updates_of
from toys import images


def test_labels_stay_and_no_image_comes_twice() -> None:
    private = images(12, classes=3)
    _, secret = Mixup(k=3).hide(private, None, seeded(0), rounds=4)
    truths = OtherTruths(secret.sources, secret, range(3), named=False)
    classes = private.labels.argmax(1).numpy()
    for drawn in truths.draw(50, seeded(1)):
        assert (classes[drawn] == classes[truths.held]).all()
        assert all(len(set(row)) == 3 for row in drawn.tolist())
        for place in range(3):
            assert (np.sort(drawn[:, place]) == np.sort(truths.held[:, place])).all()
        assert (drawn != truths.held).any()
    for drawn in OtherTruths(secret.sources, secret, [0], named=True).draw(5, seeded(1)):
        assert (drawn[:, 1:] == truths.held[:, 1:]).all()


def test_what_is_missing_stays_missing() -> None:
    secret = updates_of(images(8, classes=1), (0, 1, 2), (3,), (4, 5), (6, 7), ())
    held = secret.holds(torch.arange(5))
    for drawn in OtherTruths(held, secret, range(3), named=False).draw(20, seeded(0)):
        assert ((drawn < 0) == (held.numpy() < 0)).all()


def test_all_truths_are_as_likely() -> None:
    """Four rows of two places, no image twice: the nine derangements of (0, 1, 2, 3), from one of them, χ² at 0.1 %."""
    secret = updates_of(images(4, classes=1), (0, 1), (1, 2), (2, 3), (3, 0))
    truths = OtherTruths(secret.holds(torch.arange(4)), secret, [1], named=True)
    seen = Counter(tuple(drawn[:, 1].tolist()) for drawn in truths.draw(4500, seeded(3)))
    allowed = [each for each in permutations(range(4)) if all(a != b for a, b in enumerate(each))]
    assert set(seen) == set(allowed)
    assert scipy.stats.chisquare([seen[each] for each in allowed]).pvalue > 1e-3


def test_no_truth_is_rarer_than_its_share() -> None:
    """Six rows made for three images, two of one class: of 6! / (2! 2! 2!) orders, within classes 4! / (2! 2!)."""
    private = images(3, classes=2)
    secret = updates_of(private, (0,), (0,), (1,), (1,), (2,), (2,))
    held = secret.holds(torch.arange(6))
    orders = set(permutations((0, 0, 2, 2)))  # 0 and 2 are of the first class
    assert OtherTruths(held, secret, [0], named=True).rarest == pytest.approx(1 / len(orders))
    assert OtherTruths(held, secret, [0], named=False).rarest == pytest.approx(2 / len(orders))


def test_p_values_are_counted_where_draws_resolve_them() -> None:
    drawn = np.random.default_rng(0).normal(size=999)
    for statistic in (-1.0, 0.0, 1.0, 2.0):
        assert beyond(statistic, drawn, 0.0, float).p_value == (1 + (drawn >= statistic).sum()) / 1000
    assert beyond(9.0, drawn, 0.004, float).p_value == 0.004
    assert beyond(1.0, np.ones(999), 0.0, float).p_value == 1
    test = beyond(0.0, drawn, 1e-8, lambda statistic: 0.5 + statistic)
    for level in (0.05, 1e-2, 1e-4):
        least = test.least(level)
        assert least is not None
        assert beyond(least - 0.5, drawn, 1e-8, float).p_value <= level * 1.0001
        assert beyond(least - 0.51, drawn, 1e-8, float).p_value > level * 0.95
    assert test.least(1e-9) is None


def test_tails_are_not_taken_for_lighter_than_they_are() -> None:
    """300 times 499 draws: at the true 1e-3, 1e-4 and 1e-5, the mean p-value is no smaller; five laws."""
    generator = np.random.default_rng(1)
    laws = (scipy.stats.norm(), scipy.stats.poisson(2), scipy.stats.binom(200, 0.1), scipy.stats.gamma(9))
    for law in (*laws, scipy.stats.t(12)):
        drawn = law.rvs((300, 499), random_state=generator).astype(float)
        for level in (1e-3, 1e-4, 1e-5):
            statistic = float(law.isf(level))
            true = float(law.sf(statistic - 1e-9))
            found = np.array([beyond(statistic, each, 0.0, float).p_value for each in drawn])
            assert found.mean() >= true, (law.dist.name, level)
            assert (found < true / 2).mean() < 0.15, (law.dist.name, level)
