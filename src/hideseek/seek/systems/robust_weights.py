"""Weights of public images in a masked row that are nearly right, from neighbours and without any signs.

Neighbours differ little in private images, and often not at all, so Σ_j μ_j d_j is near one of ±|x̃|_a ± |x̃|_b, with
errors that have a peak at zero and long tails. Iteratively reweighted least squares for the law of Cauchy, with the
signs that fit best taken anew at each step, give weights ten times nearer than squares do.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hideseek.chance.compiled import compiled
from hideseek.seek.systems.free_weights import completed, reduced
from hideseek.seek.systems.pair_votes import Array
from hideseek.seek.systems.signed_pairs import SignedPairs

SCALES = (1.0,) * 8 + (0.5,) * 8  # of the median error, at each step
FLAT = 0.01  # in a row's units, about half a byte: errors that are smaller are as good
_RIDGE = 1e-9
_TINY = 1e-12


@dataclass(frozen=True)
class RobustFit:
    """Weights, the differences of neighbours with the signs that fit, and what weights leave of them."""

    weights: Array
    values: Array
    errors: Array

    @property
    def scale(self) -> float:
        """Give the geometric mean of errors, small ones counting alike: less where all images are right."""
        return float(np.exp(np.log(np.abs(self.errors) + FLAT).mean()))


def robust_weights(
    pairs: SignedPairs, differences: Array, guess: Array, mass: float | None, scales: Sequence[float] = SCALES
) -> RobustFit:
    """Fit the weights of images, j × pairs, which sum to `mass` if that is known, from a guess on."""
    near, far = pairs.one - pairs.two, pairs.one + pairs.two
    changes = reduced(differences, mass).T
    base = np.zeros_like(near) if mass is None else mass * differences[-1]
    free = _stepped(near, far, np.ascontiguousarray(changes), base, guess[: changes.shape[1]], np.array(scales))
    weights = completed(free, mass)
    return RobustFit(weights, *_signed(near, far, weights @ differences))


@compiled(fastmath=True)
def _stepped(  # pragma: no cover (compiled)
    near: Array, far: Array, changes: Array, base: Array, guess: Array, scales: Array
) -> Array:
    """Take a step of weighted least squares for every scale: pairs × free weights are given, and what is fixed."""
    count, unknown = changes.shape
    weights, errors, sizes = guess.copy(), np.empty(count), np.empty(count)
    for scale in scales:
        for i in range(count):
            wanted = base[i]
            for j in range(unknown):
                wanted += weights[j] * changes[i, j]
            one, two = abs(near[i]) - abs(wanted), far[i] - abs(wanted)
            error = one if abs(one) < abs(two) else two
            errors[i] = error if wanted >= 0 else -error
            sizes[i] = abs(error)
        width = scale * np.median(sizes) + _TINY
        gram, right = np.zeros((unknown, unknown)), np.zeros(unknown)
        for i in range(count):
            trust = 1 / (1 + (errors[i] / width) ** 2)
            if scale != 1:
                trust *= trust
            for j in range(unknown):
                weighted = trust * changes[i, j]
                right[j] += weighted * errors[i]
                for other in range(j + 1):
                    gram[j, other] += weighted * changes[i, other]
        for j in range(unknown):
            gram[j, j] += _RIDGE
            for other in range(j):
                gram[other, j] = gram[j, other]
        weights += np.linalg.solve(gram, right)
    return weights


def _signed(near: Array, far: Array, wanted: Array) -> tuple[Array, Array]:
    """Give differences with the signs that are nearest to what is wanted, and what they are off by."""
    one, two = np.copysign(near, wanted), np.copysign(far, wanted)
    values = np.where(np.abs(one - wanted) < np.abs(two - wanted), one, two)
    return values, values - wanted
