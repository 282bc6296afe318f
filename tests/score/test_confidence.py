import numpy as np
import pytest
import scipy.stats
import torch

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.score.confidence import Interval, beats, interval


def test_against_the_normal_interval() -> None:
    scores = torch.from_numpy(np.random.default_rng(0).normal(3.0, 2.0, 400))
    found = interval(scores, seeded(0))
    half = 1.96 * float(scores.std()) / 20
    assert found.mean == pytest.approx(float(scores.mean()))
    assert found.low == pytest.approx(found.mean - half, abs=0.15 * half)
    assert found.high == pytest.approx(found.mean + half, abs=0.15 * half)


def test_it_covers_as_often_as_it_says() -> None:
    """95 % intervals of 200 samples of 40 cover within four deviations (0.0154) of 0.94, as percentiles do."""
    generator = np.random.default_rng(1)
    hits = 0
    for number in range(200):
        found = interval(torch.from_numpy(generator.normal(0, 1, 40)), seeded(number))
        hits += found.low < 0 < found.high
    assert abs(hits / 200 - 0.94) < 0.062


def test_items_of_one_seed_rise_and_fall_together() -> None:
    """With all items of a group equal, the interval is that of the groups, not of the items."""
    means = torch.from_numpy(np.random.default_rng(2).normal(0, 1, 10))
    items, groups = means.repeat_interleave(50), torch.arange(10).repeat_interleave(50)
    grouped, alone = interval(items, seeded(0), groups), interval(means, seeded(0))
    assert (grouped.low, grouped.high) == pytest.approx((alone.low, alone.high))
    assert grouped.count == 10
    naive = interval(items, seeded(0))
    assert naive.high - naive.low < 0.3 * (grouped.high - grouped.low)


def test_beating_a_baseline_takes_an_interval_and_items() -> None:
    assert beats(Interval(2.0, 1.5, 2.5, 20, 0.01), 1.0)
    assert not beats(Interval(2.0, 0.9, 2.5, 20, 0.01), 1.0)
    assert not beats(Interval(2.0, 1.5, 2.5, 3, 0.01), 1.0)


def test_the_p_value_is_that_of_a_test_over_groups() -> None:
    values = np.random.default_rng(3).normal(0.1, 1, 60)
    wanted = scipy.stats.ttest_1samp(values, 0, alternative="greater").pvalue
    assert interval(torch.from_numpy(values), seeded(0)).p_value == pytest.approx(wanted)
    groups = torch.arange(60) // 3  # of one size, so that the test is that of their means
    wanted = scipy.stats.ttest_1samp(values.reshape(20, 3).mean(1), 0, alternative="greater").pvalue
    assert interval(torch.from_numpy(values), seeded(0), groups).p_value == pytest.approx(wanted)
    assert [interval(torch.full((9,), value), seeded(0)).p_value for value in (1.0, 0.0, -1.0)] == [0, 1, 1]
    assert interval(torch.ones(9), seeded(0), torch.zeros(9)).p_value == 1  # one group proves nothing


def test_nothing_to_average_is_refused() -> None:
    for scores in (torch.empty(0), torch.tensor([1.0, float("inf")])):
        with pytest.raises(BadInput, match="finite"):
            interval(scores, seeded(0))
