"""Ridge regression along rings of rows and images, compiled: one round of a scheme that mixes two images."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hideseek.chance.compiled import compiled, on_threads

TOGETHER = 16  # columns that a thread takes through a ring side by side

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Pointers = NDArray[np.int32]


@dataclass(frozen=True)
class Rings:
    """Images and rows in the order of their rings: row j has `near` of image j and `far` of the image after it."""

    starts: Places
    """Where each ring begins, and the end of the last."""
    images: Places
    rows: Places
    near: Floats
    far: Floats

    def solve(self, right: Floats, penalties: Floats) -> Floats:
        """Find min ‖W x − y‖² + μ ‖x‖² for every column y of `right`, each with its own μ."""
        answer = np.empty_like(right)
        parts = (self.starts, self.images, self.rows, self.near, self.far)
        on_threads(_solve, -(-right.shape[1] // TOGETHER), *parts, right, np.sqrt(penalties), answer)
        return answer


def rings_of(matrix: csr_array) -> Rings | None:
    """Give the rings of W, where each row holds two images and each image is in two rows, or both hold one; or None.

    A permutation without fixed points makes such rows: image i is mixed with π(i), π(i) with π(π(i)), and so on.
    """
    count = matrix.shape[0]
    in_row, in_image = np.diff(matrix.indptr), np.bincount(matrix.indices, minlength=matrix.shape[1])
    if matrix.shape[1] != count or count == 0 or in_row.min() < 1 or max(in_row.max(), in_image.max()) > 2:
        return None
    if not np.array_equal(in_image[matrix.indices], np.repeat(in_row, in_row)):
        return None
    turned = matrix.tocsc()
    starts, images, rows = (np.empty(count, np.int64) for _ in range(3))
    near, far, data = np.empty(count), np.empty(count), matrix.data.astype(np.float64)
    rings = _walk(matrix.indptr, matrix.indices, data, turned.indptr, turned.indices, starts, images, rows, near, far)
    return Rings(np.append(starts[:rings], count), images, rows, near, far)


@compiled()
def _walk(  # pragma: no cover (compiled)
    indptr: Pointers,
    indices: Pointers,
    data: Floats,
    turned_indptr: Pointers,
    turned_indices: Pointers,
    starts: Places,
    images: Places,
    rows: Places,
    near: Floats,
    far: Floats,
) -> int:
    """Go from each image through a row to the next image until the ring closes; give how many rings there are."""
    done = np.zeros(len(indptr) - 1, np.bool_)
    rings, place = 0, 0
    for begin in range(len(turned_indptr) - 1):
        row = turned_indices[turned_indptr[begin]]
        if done[row]:
            continue
        starts[rings], rings = place, rings + 1
        image = begin
        while not done[row]:
            done[row] = True
            images[place], rows[place] = image, row
            first = indptr[row]
            if indptr[row + 1] - first == 1:  # an image by itself
                near[place], far[place] = data[first], 0.0
                place += 1
                break
            here = first if indices[first] == image else first + 1
            there = 2 * first + 1 - here
            near[place], far[place] = data[here], data[there]
            image = indices[there]
            at = turned_indptr[image]
            row = turned_indices[at + 1] if turned_indices[at] == row else turned_indices[at]
            place += 1
    return rings


@compiled(error_model="numpy")
def _solve(  # pragma: no cover (compiled)
    first: int,
    last: int,
    starts: Places,
    images: Places,
    rows: Places,
    near: Floats,
    far: Floats,
    right: Floats,
    roots: Floats,
    answer: Floats,
) -> None:
    """Solve by rotations (QR), image after image; W'W + μ would square the condition, and W is near-singular.

    Before image u_j is eliminated, what is known of it and of the ring's first image u_0 is a triangle: p u_j + q u_0 =
    b and t u_0 = g. The penalty, √μ u_j = 0, and the row, a u_j + c u_{j+1} = y, are rotated into it, which leaves an
    equation to solve u_j by, and the triangle of u_{j+1} and u_0.
    """
    longest = 0
    for ring in range(len(starts) - 1):
        longest = max(longest, starts[ring + 1] - starts[ring])
    kept, triangle = np.empty((4, longest, TOGETHER)), np.empty((6, TOGETHER))
    own, ahead, corner, known = kept[0], kept[1], kept[2], kept[3]
    p, q, b, t, g, at_first = triangle[0], triangle[1], triangle[2], triangle[3], triangle[4], triangle[5]
    for group in range(first, last):
        column = group * TOGETHER
        wide = min(TOGETHER, right.shape[1] - column)
        for ring in range(len(starts) - 1):
            start, stop = starts[ring], starts[ring + 1]
            length = stop - start
            y = right[rows[start]]
            for k in range(wide):
                p[k], q[k], b[k] = far[start], near[start], y[column + k]
                t[k], g[k] = roots[column + k], 0.0
            for j in range(1, length):
                a, c = near[start + j], far[start + j]
                y = right[rows[start + j]]
                for k in range(wide):
                    root = roots[column + k]
                    size = np.sqrt(p[k] * p[k] + root * root)
                    cosine, sine = p[k] / size, root / size
                    left_q, left_b = -sine * q[k], -sine * b[k]
                    turned_q, turned_b = cosine * q[k], cosine * b[k]
                    both = np.sqrt(size * size + a * a)
                    cosine, sine = size / both, a / both
                    own[j, k], ahead[j, k] = both, sine * c
                    corner[j, k], known[j, k] = cosine * turned_q, cosine * turned_b + sine * y[column + k]
                    p[k], q[k], b[k] = cosine * c, -sine * turned_q, cosine * y[column + k] - sine * turned_b
                    size = np.sqrt(t[k] * t[k] + left_q * left_q)
                    g[k] = (t[k] * g[k] + left_q * left_b) / size
                    t[k] = size
            for k in range(wide):
                total = p[k] + q[k]  # the image after the last is the first
                value = (total * b[k] + t[k] * g[k]) / (total * total + t[k] * t[k])
                at_first[k] = value
                p[k] = value
                answer[images[start], column + k] = value
            for j in range(length - 1, 0, -1):
                out = answer[images[start + j]]
                for k in range(wide):
                    p[k] = (known[j, k] - ahead[j, k] * p[k] - corner[j, k] * at_first[k]) / own[j, k]
                    out[column + k] = p[k]
