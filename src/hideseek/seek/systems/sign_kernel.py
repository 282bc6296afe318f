"""The inner loop of phase retrieval, compiled: expected signs of rows, gathered for every image, in one pass.

Each thread has pixels of its own, for which the images' sums stay in its cache; rows are read once and nothing of
their size is written.
"""

import numpy as np
from numpy.typing import NDArray

from hideseek.chance.compiled import compiled

PIECE = 256  # pixels

Matrix = NDArray[np.float32]
Vector = NDArray[np.float32]
Rows = NDArray[np.int64]


@compiled(inline="always")
def soft_sign(value: np.float32) -> np.float32:  # pragma: no cover (compiled)
    """Give tanh to within 10⁻⁴, by a continued fraction that processors do eight of at a time."""
    value = min(np.float32(9), max(np.float32(-9), value))  # the powers of larger ones would overflow
    square = value * value
    above = value * (np.float32(135135) + square * (np.float32(17325) + square * (np.float32(378) + square)))
    below = np.float32(135135) + square * (np.float32(62370) + square * (np.float32(3150) + np.float32(28) * square))
    return min(np.float32(1), max(np.float32(-1), above / below))


@compiled(fastmath={"contract", "reassoc", "nsz"})
def gather_signed(  # pragma: no cover (compiled)
    first: int,
    last: int,
    magnitudes: Matrix,
    images: Matrix,
    sources: Rows,
    weights: Matrix,
    mass: Vector,
    mean: Vector,
    known: Matrix,
    doubt: Vector,
    variance: Vector,
    gathered: Matrix,
    seen: Matrix,
) -> None:
    """Set gathered = A'D⁻¹(x̃ tanh(x̃ m / v) − rest) and seen, pieces × rows, = Σ E(s − m)² / variance over a piece.

    It does so for the pieces from the first up to the last, without it.
    m = A x + rest, rest = mass · mean + known (which may have no rows), v = doubt · variance, D = doubt.
    """
    rows, pixels = magnitudes.shape
    for piece in range(first, last):
        start, stop = piece * PIECE, min((piece + 1) * PIECE, pixels)
        wide = stop - start
        total, rest = np.empty(PIECE, np.float32), np.empty(PIECE, np.float32)
        inverse = np.empty(PIECE, np.float32)
        for q in range(wide):
            inverse[q] = np.float32(1) / variance[start + q]
        sums = gathered[:, start:stop]
        sums[:] = 0
        for r in range(rows):
            row = magnitudes[r, start:stop]
            for q in range(wide):
                rest[q] = mass[r] * mean[start + q]
            if len(known):
                for q in range(wide):
                    rest[q] += known[r, start + q]
            for q in range(wide):
                total[q] = rest[q]
            for j in range(sources.shape[1]):
                weight, image = weights[r, j], images[sources[r, j], start:stop]
                for q in range(wide):
                    total[q] += weight * image[q]
            sharp, squares = np.float32(1) / doubt[r], np.float32(0)
            for q in range(wide):
                signed = row[q] * soft_sign(row[q] * total[q] * inverse[q] * sharp)
                squares += (row[q] * row[q] - np.float32(2) * signed * total[q] + total[q] * total[q]) * inverse[q]
                total[q] = (signed - rest[q]) * sharp
            seen[piece, r] = squares
            for j in range(sources.shape[1]):
                weight, image = weights[r, j], sums[sources[r, j]]
                for q in range(wide):
                    image[q] += weight * total[q]
