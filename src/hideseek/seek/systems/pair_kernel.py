"""How far rows are from pairs of images, place by place, compiled: nothing of the size of all pairs is written."""

import numba
import numpy as np
from numpy.typing import NDArray

from hideseek.chance.compiled import compiled

Matrix = NDArray[np.float32]
Pairs = NDArray[np.int64]
Weights = NDArray[np.float32]


@compiled(parallel=True, fastmath={"contract", "reassoc", "nsz"})
def pair_distances(  # pragma: no cover (compiled)
    rows: Matrix,
    local: Matrix,
    images: Matrix,
    pairs: Pairs,
    weights: Weights,
    free: NDArray[np.bool_],
    distances: Matrix,
) -> None:
    """Set distances, rows × pairs, to Σ_p w_p (z_p − λ_i x_ip − λ_j x_jp)², w being `local`.

    Where a row is `free`, only λ_i + λ_j is known, and both become what fits best, no less than 0.
    """
    for r in numba.prange(len(rows)):
        row, weight = rows[r], local[r]
        for k in range(pairs.shape[1]):
            one, two = images[pairs[r, k, 0]], images[pairs[r, k, 1]]
            first, second = weights[r, k, 0], weights[r, k, 1]
            if free[r]:
                mass, fit, size = first + second, np.float32(0), np.float32(1e-12)
                for p in range(len(row)):
                    step = one[p] - two[p]
                    fit += weight[p] * step * (row[p] - mass * two[p])
                    size += weight[p] * step * step
                first = min(mass, max(np.float32(0), fit / size))
                second = mass - first
                weights[r, k, 0], weights[r, k, 1] = first, second
            total = np.float32(0)
            for p in range(len(row)):
                left = row[p] - first * one[p] - second * two[p]
                total += weight[p] * left * left
            distances[r, k] = total
