"""All bytes b₁ … b_k with Σ_j w_j b_j = y, to a tolerance: the values that a pixel of mixed images can have.

Sums of two bytes with the two least weights are sorted into narrow buckets once. For every choice of the other bytes
the rest of y is then looked up: 256^(k−2) lookups a pixel, instead of 256^(k−1) sums.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hideseek.chance.compiled import compiled

BUCKETS = 1 << 16
LEVELS = 256

Array = NDArray[np.float64]
Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class Solutions:
    """What every pixel can be: `values` and `errors` have room for the most that a pixel has, `counts` says how many.

    An error is y − Σ_j w_j b_j. `sides` says by which of the pixel's targets a solution is one, where it has several.
    `lost` counts what there was no room for.
    """

    values: Bytes  # pixels × room × k
    errors: Array  # pixels × room
    sides: NDArray[np.int8]  # pixels × room
    counts: NDArray[np.int64]  # pixels
    lost: int = 0

    @classmethod
    def together(cls, parts: Sequence["Solutions"]) -> "Solutions":
        """Give the solutions of several channels, one after another, with the same room."""
        return cls(
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.errors for part in parts]),
            np.concatenate([part.sides for part in parts]),
            np.concatenate([part.counts for part in parts]),
            sum(part.lost for part in parts),
        )

    def some(self, chosen: NDArray[np.bool_]) -> "Solutions":
        """Give the solutions that are chosen, pixels × room, in less room."""
        counts = chosen.sum(1)
        places = np.argsort(~chosen, axis=1, kind="stable")[:, : max(1, int(counts.max(initial=0)))]
        return Solutions(
            np.take_along_axis(self.values, places[:, :, None], 1),
            np.take_along_axis(self.errors, places, 1),
            np.take_along_axis(self.sides, places, 1),
            counts,
        )

    @property
    def there(self) -> NDArray[np.bool_]:
        """Tell which places hold a solution."""
        return np.arange(self.errors.shape[1]) < self.counts[:, None]


def byte_solutions(targets: Array, weights: Array, tolerance: Array, room: int) -> Solutions:
    """Solve for the bytes of every pixel: a target of `targets`, sides × pixels, is Σ_j w_j b_j to ± its tolerance.

    >>> found = byte_solutions(np.array([[0.7 * 20 + 0.3 * 5]]), np.array([0.7, 0.3]), np.array([1e-6]), room=9)
    >>> sorted(found.values[0, : found.counts[0]].tolist())
    [[2, 47], [5, 40], [8, 33], [11, 26], [14, 19], [17, 12], [20, 5]]
    """
    order = np.argsort(weights, kind="stable")
    sorted_weights = np.ascontiguousarray(weights[order], np.float64)
    pixels, k = targets.shape[1], len(weights)
    values = np.zeros((pixels, room, k), np.uint8)
    errors, sides = np.zeros((pixels, room)), np.zeros((pixels, room), np.int8)
    counts = np.zeros(pixels, np.int64)
    lost = _solve(np.ascontiguousarray(targets), sorted_weights, order, tolerance, values, errors, sides, counts)
    return Solutions(values, errors, sides, counts, int(lost))


def expected_solutions(weights: NDArray[Any], tolerance: float, sides: int = 1) -> float:
    """Tell how many solutions a pixel has by chance: 256^k sums lie between 0 and 255 · Σ w.

    >>> round(expected_solutions(np.array([0.5, 0.3, 0.2]), 1e-5), 1)
    1.3
    """
    return float(sides * 2 * float(tolerance) * LEVELS ** len(weights) / (255 * float(weights.sum())))


@compiled()
def _solve(  # pragma: no cover (compiled)
    targets: Array,
    weights: Array,
    order: NDArray[np.int64],
    tolerances: Array,
    values: Bytes,
    errors: Array,
    sides: NDArray[np.int8],
    counts: NDArray[np.int64],
) -> int:
    """Look up the rest of each target; `weights` ascend, and the two least make the table."""
    k, (alternatives, pixels), room = len(weights), targets.shape, values.shape[1]
    light = weights[0]
    next_one = weights[1] if k > 1 else 0.0
    seconds = LEVELS if k > 1 else 1
    width = max(255 * (light + next_one), 1e-300) / (BUCKETS - 2)
    starts = np.zeros(BUCKETS + 1, np.int32)
    for one in range(LEVELS):
        for two in range(seconds):
            starts[int((light * one + next_one * two) / width) + 1] += 1
    for bucket in range(BUCKETS):
        starts[bucket + 1] += starts[bucket]
    fill = starts[:-1].copy()
    sums, ones, twos = np.empty(starts[-1]), np.empty(starts[-1], np.uint8), np.empty(starts[-1], np.uint8)
    for one in range(LEVELS):
        for two in range(seconds):
            total = light * one + next_one * two
            place = fill[int(total / width)]
            fill[int(total / width)] += 1
            sums[place], ones[place], twos[place] = total, one, two
    most = 255 * (light + next_one)
    others = max(0, k - 2)
    combinations = LEVELS**others
    chosen = np.zeros(max(1, others), np.int64)
    lost = 0
    for pixel in range(pixels):
        found, tolerance = 0, tolerances[pixel]
        for side in range(alternatives):
            target = targets[side, pixel]
            for number in range(combinations):
                rest, left = target, number
                for j in range(others):
                    chosen[j] = left % LEVELS
                    left //= LEVELS
                    rest -= weights[2 + j] * chosen[j]
                if not -tolerance <= rest <= most + tolerance:  # which NaN is not either
                    continue
                first = int(max(0.0, (rest - tolerance) / width))
                last = int(min(BUCKETS - 1.0, (rest + tolerance) / width))  # huge numbers have no int
                for place in range(starts[first], starts[last + 1]):
                    error = rest - sums[place]
                    if abs(error) > tolerance:
                        continue
                    if found == room:
                        lost += 1
                        continue
                    values[pixel, found, order[0]] = ones[place]
                    if k > 1:
                        values[pixel, found, order[1]] = twos[place]
                    for j in range(others):
                        values[pixel, found, order[2 + j]] = chosen[j]
                    errors[pixel, found], sides[pixel, found] = error, side
                    found += 1
        counts[pixel] = found
    return lost
