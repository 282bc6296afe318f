"""Tests of means: against sums over all cases, how often they err, and which mean is the least."""

from itertools import product
from math import comb

import numpy as np
import pytest
import scipy.stats
import torch
from numpy.typing import NDArray

from hideseek.score.significance import known_rate, seen_rate, sign_flips


def skew(values: NDArray[np.float64]) -> float:
    """Hall's transformation by its definition, with twice the skewness of the values, if that is to the left."""
    count = len(values)
    u, gamma = values.mean() / values.std(), min(0.0, 2 * float(scipy.stats.skew(values)))
    transformed = u + gamma * u**2 / 3 + gamma**2 * u**3 / 27 + gamma / (6 * count)
    return float(scipy.stats.t.sf(np.sqrt(count - 1) * transformed, count - 1))


def p_value(advantages: NDArray[np.float64], groups: NDArray[np.int64] | None = None) -> float:
    names = np.arange(len(advantages)) if groups is None else groups
    return sign_flips(torch.from_numpy(advantages), torch.from_numpy(names), lambda mean: mean).p_value


def test_all_flips_of_few_images() -> None:
    generator = np.random.default_rng(0)
    values, groups = generator.normal(0.3, 1, 30), np.arange(30) % 9
    sums = [values[groups == group].sum() for group in range(9)]
    flipped = [sum(sign * each for sign, each in zip(signs, sums, strict=True)) for signs in product((1, -1), repeat=9)]
    wanted = np.mean(np.array(flipped) >= sum(sums) - 1e-12)
    assert p_value(values, groups) == pytest.approx(max(wanted, skew(np.array(sums))))
    left = np.append(np.linspace(0.9, 1.1, 11), -4.0)
    assert p_value(left) == pytest.approx(skew(left))
    assert skew(left) > 2 * np.mean(
        [(np.array(signs) @ left) >= left.sum() - 1e-9 for signs in product((1, -1), repeat=12)]
    )
    assert p_value(np.ones(9)) == 2**-9
    assert p_value(np.zeros(9)) == p_value(-np.ones(9)) == 1


def test_flips_of_many_images_are_those_of_a_simulation() -> None:
    """60 skew values, two of them large: within four deviations of 200,000 random flips; and values in steps."""
    generator = np.random.default_rng(1)
    skew = np.append(generator.exponential(1, 58) - 0.75, [6, 8])
    hits = np.where(np.arange(60) < 38, 1.0, -1.0)
    for values in (skew, hits):
        signs = generator.choice([-1, 1], (200_000, 60))
        wanted = float((signs @ values >= values.sum() - 1e-9).mean())
        assert abs(p_value(values) - wanted) < 4 * np.sqrt(wanted / 200_000) + 0.03 * wanted
    exact = sum(comb(60, k) for k in range(38, 61)) / 2**60
    assert p_value(hits) == pytest.approx(exact, rel=0.03)


def test_few_images_err_no_more_than_said() -> None:
    """Advantages that could as well be the baseline's, normal, heavy-tailed or rare, of 5 to 10 and 30 images.

    4,000 trials of each at 2.5 % and 0.1 %: at most three deviations above (0.74 % and 0.15 %).
    """
    generator = np.random.default_rng(2)
    for count in (5, 6, 8, 10, 30):
        symmetric = {
            "normal": generator.normal(size=(4000, count)),
            "heavy-tailed": generator.standard_cauchy((4000, count)),
            "differences of skew scores": generator.exponential(1, (4000, count)) ** 2
            - generator.exponential(1, (4000, count)) ** 2,
            "rare": generator.choice([-1, 0, 0, 0, 0, 1], (4000, count)).astype(float),
        }
        for name, values in symmetric.items():
            found = np.array([p_value(each) for each in values])
            assert (found <= 0.025).mean() <= 0.025 + 0.0074, (name, count)
            assert (found <= 0.001).mean() <= 0.001 + 0.0015, (name, count)


def test_scores_that_are_skew_to_the_left() -> None:
    """Mean zero, 1 − an exponential: 2,000 trials of 20 and of 40 images at 2.5 % and 0.1 %, three deviations above.

    Student's test errs in 7.5 and 1.6 % of trials of 20 images.
    """
    generator = np.random.default_rng(4)
    for count in (20, 40):
        found = np.array([p_value(each) for each in 1 - generator.exponential(1, (2000, count))])
        assert (found <= 0.025).mean() <= 0.025 + 0.0105
        assert (found <= 0.001).mean() <= 0.001 + 0.0022


def test_known_and_seen_rates() -> None:
    wanted = sum(comb(160, k) * 0.02**k * 0.98 ** (160 - k) for k in range(9, 161))
    assert known_rate(9, 160, 0.02).p_value == pytest.approx(wanted)
    seen = scipy.stats.fisher_exact(np.array([[11, 149], [2, 158]]), alternative="greater").pvalue
    assert seen_rate(11, 2, 160).p_value == pytest.approx(seen)
    assert known_rate(0, 5, 0.5).p_value == seen_rate(0, 0, 5).p_value == 1


def test_a_rate_that_was_seen_errs_no_more_than_said() -> None:
    """Both have the same rate, whatever it is: P[p ≤ level] by the sum over all outcomes."""
    for count, rate, level in ((8, 0.35, 1e-3), (10, 0.1, 0.025), (40, 0.02, 0.025), (40, 0.3, 1e-3)):
        law = scipy.stats.binom.pmf(np.arange(count + 1), count, rate)
        errs = sum(
            law[hits] * law[baseline]
            for hits in range(count + 1)
            for baseline in range(count + 1)
            if seen_rate(hits, baseline, count).p_value <= level
        )
        assert errs <= level


def test_the_least_mean_is_just_beyond_the_level() -> None:
    generator = np.random.default_rng(3)
    for count, level in ((12, 1e-3), (40, 1e-5)):
        values, groups = generator.normal(0.2, 0.1, 2 * count), np.arange(2 * count) % count
        test = sign_flips(torch.from_numpy(values), torch.from_numpy(groups), lambda mean: 0.5 + mean)
        least = test.least(level)
        assert least is not None
        assert p_value(values - values.mean() + least - 0.5, groups) <= level
        assert p_value(values - values.mean() + least - 0.5 - 1e-3, groups) > level
    for baseline, test in ((0.03, known_rate(0, 40, 0.03)), (0.0, seen_rate(3, 0, 40))):
        least = test.least(1e-3)
        assert least is not None
        hits = round(least * 40)
        better, worse = ((known_rate(h, 40, 0.03) if baseline else seen_rate(h, 0, 40)) for h in (hits, hits - 1))
        assert better.p_value <= 1e-3 < worse.p_value


def test_too_few_images_reach_no_level() -> None:
    values, groups = torch.full((6,), 0.9), torch.arange(6)
    assert sign_flips(values, groups, lambda mean: mean).least(2**-6) is not None
    assert sign_flips(values, groups, lambda mean: mean).least(0.01) is None
    assert seen_rate(5, 0, 5).least(1e-3) is None
    assert known_rate(5, 5, 0.1).least(1e-4) == 1.0
