"""Conjugate gradients on the squared error of a sparse system (CGLS), compiled: each column stops by itself."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hideseek.chance.compiled import compiled, on_threads

TOGETHER = 16  # columns that a thread descends for side by side: two cache lines of a row

Floats = NDArray[np.float64]


def descended(matrix: csr_array, right: Floats, penalties: Floats, steps: int, tolerance: float) -> Floats:
    """Find min ‖W x − y‖² + μ ‖x‖² for every column, until its gradient is `tolerance` of that at zero."""
    answer = np.zeros((matrix.shape[1], right.shape[1]))
    parts = (matrix.indptr, matrix.indices, matrix.data.astype(np.float64))
    groups = -(-right.shape[1] // TOGETHER)
    on_threads(_descend, groups, *parts, right, penalties, steps, tolerance, answer)
    return answer


@compiled(fastmath={"contract", "reassoc", "nsz"}, error_model="numpy")
def _descend(  # pragma: no cover (compiled)
    first: int,
    last: int,
    indptr: NDArray[np.int32],
    indices: NDArray[np.int32],
    data: Floats,
    right: Floats,
    penalties: Floats,
    steps: int,
    tolerance: float,
    answer: Floats,
) -> None:
    """Descend for some groups of columns; those that are done take steps of length 0.

    On and on at the level of rounding, directions would grow until they are no numbers.
    """
    rows, images = right.shape[0], answer.shape[0]
    residual, ahead = np.empty((rows, TOGETHER)), np.empty((rows, TOGETHER))
    gradient, direction = np.empty((images, TOGETHER)), np.empty((images, TOGETHER))
    sums = np.empty((5, TOGETHER))
    square, before, enough, curve, factor = sums[0], sums[1], sums[2], sums[3], sums[4]
    for group in range(first, last):
        column = group * TOGETHER
        wide = min(TOGETHER, right.shape[1] - column)
        residual[:] = 0.0
        residual[:, :wide] = right[:, column : column + wide]
        direction[:] = 0.0
        square[:] = 0.0
        for step in range(steps + 1):
            gradient[:] = 0.0
            for r in range(rows):
                row = residual[r]
                for at in range(indptr[r], indptr[r + 1]):
                    weight, out = data[at], gradient[indices[at]]
                    for k in range(TOGETHER):
                        out[k] += weight * row[k]
            before[:] = square
            square[:] = 0.0
            for i in range(images):
                for k in range(wide):
                    gradient[i, k] -= penalties[column + k] * answer[i, column + k]
                    square[k] += gradient[i, k] * gradient[i, k]
            if step == 0:
                enough[:] = tolerance * tolerance * square
            left = 0
            for k in range(TOGETHER):
                going = square[k] > enough[k]
                left += going
                factor[k] = square[k] / before[k] if going and step > 0 else 0.0
                square[k] = square[k] if going else 0.0
            if left == 0 or step == steps:
                break
            for i in range(images):
                for k in range(TOGETHER):
                    direction[i, k] = gradient[i, k] + factor[k] * direction[i, k]
            curve[:] = 0.0
            for i in range(images):
                for k in range(wide):
                    curve[k] += penalties[column + k] * direction[i, k] * direction[i, k]
            for r in range(rows):
                row = ahead[r]
                row[:] = 0.0
                for at in range(indptr[r], indptr[r + 1]):
                    weight, given = data[at], direction[indices[at]]
                    for k in range(TOGETHER):
                        row[k] += weight * given[k]
                for k in range(TOGETHER):
                    curve[k] += row[k] * row[k]
            for k in range(TOGETHER):
                factor[k] = square[k] / curve[k] if square[k] > 0 and curve[k] > 0 else 0.0
                enough[k] = enough[k] if square[k] > 0 else np.inf  # who is done stays done
            for i in range(images):
                for k in range(wide):
                    answer[i, column + k] += factor[k] * direction[i, k]
            for r in range(rows):
                for k in range(TOGETHER):
                    residual[r, k] -= factor[k] * ahead[r, k]
