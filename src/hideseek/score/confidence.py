"""How sure a mean is: bootstrap intervals, over items or over groups of them."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
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
    return Interval(float(finite.mean()), float(low), float(high), units, confidence)
