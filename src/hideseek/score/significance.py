"""Whether a mean is beyond chance: its p-value, and the least mean that would have been.

All tests are one-sided. An audit's corrected levels are far in the tails, where Student's test errs twenty times as
often as it says on a dozen scores that are skew to the left (exponential, at 0.1 %): a little better than the baseline
on most images, and much worse on few.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

LEVEL = 0.025  # one end of a 95 % interval
FLIPPED = 16  # images whose signs are flipped in all ways, 2^16
HALVINGS = 40  # of where a least mean is searched


@dataclass(frozen=True)
class Significance:
    """How likely a mean as high is where there is nothing to find, and which mean would be less likely than a level."""

    p_value: float
    least: Callable[[float], float | None]
    """Gives the least mean whose p-value is at most the level, given how the scores scatter; None: no mean has one."""


def sign_flips(
    advantages: Float[Tensor, " n"], groups: Int[Tensor, " n"], value: Callable[[float], float]
) -> Significance:
    """Test whether the mean of advantages over a baseline is above zero, image by image.

    Where an attack is no better than its baseline, the two could change places, so that Σ_u ± x_u, with x_u the sum of
    image u's advantages, is as likely as Σ_u x_u. The largest x_u are flipped in all ways (Fisher 1935); the total of
    the others is taken as normal with variance Σ x_u², less the smallest |x_u| since totals may come in steps. Where
    the x_u are skew to the left, the larger p-value of this and of `_left_skew` counts. `value` gives the mean of the
    metric that an advantage stands for.
    """
    names, place = np.unique(groups.numpy(), return_inverse=True)
    sums = np.bincount(place, advantages.double().numpy(), len(names)).astype(np.float64)
    counts = np.bincount(place, minlength=len(names)).astype(np.float64)
    scatter = sums - sums.sum() / counts.sum() * counts

    def least(level: float) -> float | None:
        if _above_zero(counts) > level:  # all images alike, as clear as can be
            return None
        low, high = 0.0, 1e-12 + np.abs(scatter / counts).max()
        while _above_zero(scatter + high * counts) > level:
            high *= 2
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if _above_zero(scatter + middle * counts) <= level else (middle, high)
        return value(high)

    return Significance(_above_zero(sums), least)


def _above_zero(sums: NDArray[np.float64]) -> float:
    return max(_flipped(sums), _left_skew(sums))


def _flipped(sums: NDArray[np.float64]) -> float:
    """Give the chance that Σ ± x is at least Σ x."""
    from scipy.special import ndtr

    size = np.abs(sums)
    if not size.any():
        return 1.0
    order = np.argsort(-size)
    totals = np.zeros(1)
    for each in size[order[:FLIPPED]]:
        totals = np.concatenate([totals + each, totals - each])
    others = size[order[FLIPPED:]]
    others = others[others > 0]
    wanted = sums.sum() - 1e-9 * size.sum()  # sums of the same numbers in another order differ by rounding
    if not len(others):
        return float((totals >= wanted).mean())
    return float(ndtr((totals - wanted + others.min()) / np.sqrt(np.square(others).sum())).mean())


def _left_skew(sums: NDArray[np.float64]) -> float:
    """Give the p-value of Student's test after Hall's transformation (1992), which takes skewness γ < 0 out.

    T = √(n − 1) (U + γ U² / 3 + γ² U³ / 27 + γ / 6n) with U = mean / deviation. Few scores understate how skew they
    are: γ is twice that of the scores, by simulation (exponential, 8 to 40 images).
    """
    from scipy.special import stdtr

    count, mean, deviation = len(sums), float(sums.mean()), float(sums.std())
    if count < 2 or deviation <= 1e-9 * abs(mean) or mean <= 0:
        return 0.0 if mean > 0 else 1.0
    skewness = 2 * min(0.0, float(((sums - mean) ** 3).mean()) / deviation**3)
    u = mean / deviation
    transformed = u + skewness * u**2 / 3 + skewness**2 * u**3 / 27 + skewness / (6 * count)
    return float(stdtr(count - 1, -np.sqrt(count - 1) * transformed))


def known_rate(hits: int, count: int, rate: float) -> Significance:
    """Test whether there are more hits than a known rate gives: P[Bin(count, rate) ≥ hits]."""
    from scipy.stats import binom

    def p_values(hits: NDArray[np.int64] | int) -> NDArray[np.float64]:
        return np.asarray(binom.sf(np.asarray(hits) - 1, count, min(rate, 1.0)))

    return _of_hits(hits, count, p_values)


def seen_rate(hits: int, baseline: int, count: int) -> Significance:
    """Test whether there are more hits than a baseline had in as many trials, by Fisher's exact test.

    Given h + b hits of both together, h is hypergeometric. The baseline's rate is not known but seen, with an error of
    its own: to take it for the true one would err three times as often as it says.
    """
    from scipy.stats import hypergeom

    def p_values(hits: NDArray[np.int64] | int) -> NDArray[np.float64]:
        return np.asarray(hypergeom.sf(np.asarray(hits) - 1, 2 * count, np.asarray(hits) + baseline, count))

    return _of_hits(hits, count, p_values)


def _of_hits(hits: int, count: int, p_values: Callable[[NDArray[np.int64] | int], NDArray[np.float64]]) -> Significance:
    def least(level: float) -> float | None:
        enough = np.flatnonzero(p_values(np.arange(count + 1)) <= level)
        return float(enough[0]) / count if len(enough) else None

    return Significance(float(p_values(hits)), least)
