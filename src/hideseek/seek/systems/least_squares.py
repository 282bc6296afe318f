"""Ridge regression with a sparse matrix W, the weights of images in rows, that all columns share: one for a pixel."""

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import block_array, csr_array, eye_array
from scipy.sparse.linalg import splu

from hideseek.records import Task
from hideseek.seek.systems.descent_kernel import descended
from hideseek.seek.systems.ring_kernel import rings_of
from hideseek.seek.work import CALL, DOUBLE, LOOKUP, eigendecomposition

DENSE = 2500  # images that W'W is decomposed for: 50 MB, half a minute on one core
STEPS = 1000  # of conjugate gradients
TOLERANCE = 1e-7  # of the gradient, against that at zero

SUBSTITUTED = 13  # entries of the factors for every image: the system has twice as many unknowns, and fills in little
FACTORED = 180  # lookups for every image while such factors are found
EXPECTED_STEPS, SLOW_STEPS = 22, 300  # of conjugate gradients, on the whole; with no more rows than images

Columns = NDArray[np.float64]
Solve = Callable[[Columns, Columns], Columns]
"""Takes columns, m × c, and their penalties, c; gives the answers, n × c."""


def ridge(matrix: csr_array) -> Solve:
    """Give the function that finds min ‖W x − y‖² + μ ‖x‖² for some columns y at once, each with its own μ > 0.

    Four ways, by how W looks. Each row two images, each image in two rows, as in one round of two: rings, along which
    rotations take time in proportion to n. Other rows of two images, and no more rows than images: elimination fills
    nothing in. Up to DENSE images: the spectrum of W'W, which serves every μ. Beyond: conjugate gradients, without
    factors, which would fill in.
    """
    rows, images = matrix.shape
    if (rings := rings_of(matrix)) is not None:
        return rings.solve
    if rows <= images and int(np.diff(matrix.indptr).max(initial=0)) <= 2:
        return _eliminated(matrix)
    if images <= DENSE:
        return _spectral(matrix)
    return partial(descended, matrix, steps=STEPS, tolerance=TOLERANCE)


def ridge_work(task: Task, *, separate: bool) -> float:
    """Count solving for all pixels; where penalties are `separate`, with a factorisation for every pixel."""
    mixed = float(task.items * task.images_per_item * task.pixels)
    if task.items <= task.images and task.images_per_item <= 2:
        factors = task.pixels * (80 * CALL + task.images * FACTORED * LOOKUP) if separate else 0.0
        return factors + task.images * task.pixels * SUBSTITUTED * LOOKUP
    if task.images <= DENSE:
        products = 2.0 * task.images**2 * task.pixels * DOUBLE
        return eigendecomposition(task.images) + products + mixed * LOOKUP
    steps = EXPECTED_STEPS if task.items > task.images else SLOW_STEPS
    return 2 * steps * mixed * LOOKUP


def _eliminated(matrix: csr_array) -> Solve:
    """Solve [√μ, W; W', −√μ] [r; x] = [y; 0], whose second part is the answer.

    W'W + μ would square the condition, and W is near-singular: along a ring, the ratio of weights is a random walk.
    """
    rows, images = matrix.shape

    @lru_cache(1)
    def factors(penalty: float) -> Callable[[Columns], Columns]:
        root = np.sqrt(penalty)
        system = block_array([[root * eye_array(rows), matrix], [matrix.T, -root * eye_array(images)]], format="csc")
        solve: Callable[[Columns], Columns] = splu(system).solve
        return solve

    def solve(right: Columns, penalties: Columns) -> Columns:
        answer = np.empty((images, right.shape[1]))
        for penalty in np.unique(penalties):
            chosen = np.flatnonzero(penalties == penalty)
            both = np.vstack([right[:, chosen], np.zeros((images, len(chosen)))])
            answer[:, chosen] = factors(float(penalty))(both)[rows:]
        return answer

    return solve


def _spectral(matrix: csr_array) -> Solve:
    """Solve in the eigenvectors of W'W: x = V (Λ + μ)⁻¹ V' W' y."""
    values, vectors = eigh((matrix.T @ matrix).toarray())
    values = np.maximum(values, 0)

    def solve(right: Columns, penalties: Columns) -> Columns:
        answer: Columns = vectors @ ((vectors.T @ (matrix.T @ right)) / (values[:, None] + penalties))
        return answer

    return solve
