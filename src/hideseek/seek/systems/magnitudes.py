"""Images from absolute values: |A x| = e at every pixel, with two images in each row of A."""

import numpy as np
from numpy.typing import NDArray

from hideseek.chance.compiled import compiled
from hideseek.progress import track

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

BLOCK = 256  # pixels that are begun together
POWERS = 40  # steps towards a leading vector
LARGEST = 4.0  # times its mean, that a square may count
STEPS = 20  # of alternating, between two searches
SWEEPS = 10  # over the images, at most, in a search
ROUNDS = 3  # of search, alternating and fitting the weights again
RIDGE = 1e-6


def solved(matrix: Array, sizes: Array) -> tuple[Array, Array]:
    """Give X with |A X| ≈ e, images × pixels, and A fitted to it; each pixel's sign, for all images at once, is free.

    A start by the leading vector of Σ e² a aᵀ; then every image in turn takes the value that explains its rows best,
    one of those that explain a row exactly; then signs and least squares in turn, and the weights of rows from images.
    """
    found = leading(matrix, sizes)
    for _ in track(range(ROUNDS), "solving pixels"):
        found = alternated(matrix, sizes, found)
        searched = np.ascontiguousarray(found.T)
        _search(searched, np.ascontiguousarray(sizes.T), *_sparse(matrix), SWEEPS)
        found = alternated(matrix, sizes, np.ascontiguousarray(searched.T))
        matrix = fitted_weights(matrix, sizes, found)
    return alternated(matrix, sizes, found), matrix


def leading(matrix: Array, sizes: Array) -> Array:
    """Begin with the leading eigenvector of Σ_i (e_i² / mean − 1) a_i a_iᵀ at each pixel, by its powers."""
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True).clip(1e-12)
    images, pixels = matrix.shape[1], sizes.shape[1]
    outer = np.einsum("ia,ib->iab", unit, unit).reshape(len(matrix), -1)
    energy = np.square(sizes).mean(0).clip(1e-30)
    found = np.empty((images, pixels))
    for start in range(0, pixels, BLOCK):
        part = slice(start, start + BLOCK)
        weighed = np.minimum(np.square(sizes[:, part]) / energy[part], LARGEST)  # not below 0: then powers converge
        pooled = (weighed.T @ outer).reshape(-1, images, images)
        vector = np.einsum("paa->pa", pooled)[:, :, None] ** 0.5
        vector = vector * np.where(np.arange(images) % 2, 1.0, -1.0)[:, None]
        shift = np.einsum("i,iab->ab", weighed.mean(1), outer.reshape(-1, images, images))
        for _ in range(POWERS):
            vector = (pooled - shift) @ vector + np.linalg.norm(shift, 2) * vector
            vector /= np.linalg.norm(vector, axis=1, keepdims=True).clip(1e-30)
        found[:, part] = vector[:, :, 0].T
    explained = np.square(matrix @ found).mean(0).clip(1e-30)
    scaled: Array = found * np.sqrt(energy / explained)
    return scaled


def alternated(matrix: Array, sizes: Array, found: Array) -> Array:
    """Take the signs of A X, then the least squares, in turn."""
    inverse = np.linalg.solve(matrix.T @ matrix + RIDGE * np.eye(matrix.shape[1]), matrix.T)
    for _ in range(STEPS):
        found = (inverse @ np.where(matrix @ found >= 0, sizes, -sizes)).astype(np.float64, copy=False)
    return found


def fitted_weights(matrix: Array, sizes: Array, found: Array) -> Array:
    """Fit the weights of each row to the images: least squares, with the signs of A X, over the better half of pixels.

    A pixel whose signs are wrong anywhere stands out by what is left there, and would bend all weights.
    """
    mixed = matrix @ found
    left = np.square(np.abs(mixed) - sizes).mean(0)
    best = left <= np.median(left)
    signed, found = np.where(mixed >= 0, sizes, -sizes)[:, best], found[:, best]
    fitted = np.zeros_like(matrix)
    for row, weights in enumerate(matrix):
        there = np.flatnonzero(weights)
        fitted[row, there] = np.linalg.lstsq(found[there].T, signed[row], rcond=None)[0]
    return fitted


def _sparse(matrix: Array) -> tuple[Rows, Rows, Rows, Array, Array]:
    """List for every image its rows, the other image in each, and both weights: starts, rows, others, own, other."""
    starts, rows, others, own, other = [0], [], [], [], []
    for image in range(matrix.shape[1]):
        for row in np.flatnonzero(matrix[:, image]):
            there = [each for each in np.flatnonzero(matrix[row]) if each != image]
            rows.append(row)
            others.append(there[0] if there else image)
            own.append(matrix[row, image])
            other.append(matrix[row, there[0]] if there else 0.0)
        starts.append(len(rows))
    whole = [np.array(each, np.int64) for each in (starts, rows, others)]
    return whole[0], whole[1], whole[2], np.array(own, np.float64), np.array(other, np.float64)


@compiled()
def _search(  # pragma: no cover (compiled)
    found: Array, sizes: Array, starts: Rows, rows: Rows, others: Rows, own: Array, other: Array, sweeps: int
) -> None:
    """Give every image of every pixel, in turn, the value of (±e_i − rest_i) / own_i that leaves least."""
    images = len(starts) - 1
    for p in range(len(found)):
        x, e = found[p], sizes[p]
        for _ in range(sweeps):
            changed = False
            for a in range(images):
                begin, end = starts[a], starts[a + 1]
                now, best, value = np.inf, np.inf, x[a]
                for place in range(begin - 1, end):
                    for side in range(2):
                        if place < begin:
                            if side == 1:
                                continue
                            tried = x[a]
                        else:
                            if abs(own[place]) < 1e-9:
                                continue
                            aim = e[rows[place]] if side == 0 else -e[rows[place]]
                            tried = (aim - other[place] * x[others[place]]) / own[place]
                        left = 0.0
                        for q in range(begin, end):
                            off = abs(own[q] * tried + other[q] * x[others[q]]) - e[rows[q]]
                            left += off * off
                            if left >= best:
                                break
                        if place < begin:
                            now = left
                        if left < best:
                            best, value = left, tried
                if best < 0.999 * now and now > 1e-12:
                    x[a] = value
                    changed = True
            if not changed:
                break
