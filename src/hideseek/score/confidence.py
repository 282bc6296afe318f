"""How sure a mean is: bootstrap intervals, over items or over groups of them."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.errors import BadInput

DRAWS = 2000
FEWEST = 5  # below that an interval says nothing
BLOCK = 1 << 18  # numbers that are drawn at a time


@dataclass(frozen=True)
class Interval:
    """A mean, and between which values it lies with the stated confidence."""

    mean: float
    low: float
    high: float
    count: int
    p_value: float
    """How likely such a mean is if the true one is zero, or less (Student's test, one-sided)."""
    confidence: float = 0.95


def interval(
    scores: Float[Tensor, " n"],
    chance: Randomness,
    groups: Int[Tensor, " n"] | None = None,
    confidence: float = 0.95,
) -> Interval:
    """Bootstrap the mean of scores, one an item, by percentiles.

    `groups` names what items share, a seed or a restart: whole groups are drawn then, since their items rise and fall
    together.
    """
    finite = scores.double()
    if not len(finite) or not finite.isfinite().all():
        raise BadInput("an interval needs scores, all of them finite.")
    if groups is None:
        sums, counts = finite.numpy(), np.ones(len(finite))
    else:
        names, place = groups.unique(return_inverse=True)
        sums = torch.zeros(len(names), dtype=torch.float64).index_add_(0, place, finite).numpy()
        counts = np.bincount(place.numpy(), minlength=len(names)).astype(np.float64)
    units = len(sums)
    means = np.empty(DRAWS)
    step = max(1, BLOCK // units)
    for start in range(0, DRAWS, step):
        rows = chance.integers(units, min(step, DRAWS - start), units).numpy()
        means[start : start + step] = sums[rows].sum(1) / counts[rows].sum(1)
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return Interval(float(finite.mean()), float(low), float(high), units, _p_value(sums, counts), confidence)


def _p_value(sums: NDArray[np.float64], counts: NDArray[np.float64]) -> float:
    """Give the one-sided p-value of Student's test that the mean of groups, Σ sums / Σ counts, is zero.

    Percentiles of a bootstrap err two to three times too often with a few dozen images, which adds up over many
    figures; this does not, where scores are not too skew. The deviation of a ratio is that of Σ − mean · count.
    """
    units, mean = len(sums), sums.sum() / counts.sum()
    if units < 2:
        return 1.0
    deviation = np.sqrt(np.square(sums - mean * counts).sum() * units / (units - 1)) / counts.sum()
    if deviation <= 1e-12 * abs(mean):
        return 0.0 if mean > 0 else 1.0
    from scipy.special import stdtr  # Student's distribution function

    return float(stdtr(units - 1, -mean / deviation))


def beats(score: Interval, baseline: float) -> bool:
    """Tell whether an attack is above its baseline, with the interval's confidence, and with items enough to say so."""
    return score.count >= FEWEST and score.low > baseline
