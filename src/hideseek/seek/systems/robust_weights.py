"""Weights of public images in a masked row that are nearly right, from neighbours and without any signs.

Neighbours differ little in private images, and often not at all, so Σ_j μ_j d_j is near one of ±|x̃|_a ± |x̃|_b, with
errors that have a peak at zero and long tails. Iteratively reweighted least squares for the law of Cauchy, with the
signs that fit best taken anew at each step, give weights ten times nearer than squares do.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hideseek.seek.systems.pair_votes import Array
from hideseek.seek.systems.signed_pairs import SignedPairs

SCALES = (1.0,) * 8 + (0.5,) * 8  # of the median error, at each step
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
        """Give the median error: small where all images are right."""
        return float(np.median(np.abs(self.errors)))


def robust_weights(
    pairs: SignedPairs, differences: Array, guess: Array, mass: float, scales: Sequence[float] = SCALES
) -> RobustFit:
    """Fit the weights of images, j × pairs, which sum to `mass`, from a guess on."""
    near, far = pairs.one - pairs.two, pairs.one + pairs.two
    reduced = differences[:-1] - differences[-1:]
    weights = guess
    for scale in scales:
        _, errors = _signed(near, far, weights @ differences)
        width = scale * np.median(np.abs(errors)) + _TINY
        trust = (1 / (1 + (errors / width) ** 2)) ** (1 if scale == 1 else 2)
        weighted = reduced * trust
        gram = weighted @ reduced.T
        gram[np.diag_indices_from(gram)] += _RIDGE
        moved = weights[:-1] + np.linalg.solve(gram, weighted @ errors)
        weights = np.append(moved, mass - moved.sum())
    return RobustFit(weights, *_signed(near, far, weights @ differences))


def _signed(near: Array, far: Array, wanted: Array) -> tuple[Array, Array]:
    """Give differences with the signs that are nearest to what is wanted, and what they are off by."""
    one, two = np.copysign(near, wanted), np.copysign(far, wanted)
    values = np.where(np.abs(one - wanted) < np.abs(two - wanted), one, two)
    return values, values - wanted
