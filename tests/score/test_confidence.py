import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.score.confidence import interval


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


def test_nothing_to_average_is_refused() -> None:
    for scores in (torch.empty(0), torch.tensor([1.0, float("inf")])):
        with pytest.raises(BadInput, match="finite"):
            interval(scores, seeded(0))
