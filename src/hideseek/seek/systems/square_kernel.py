"""Products with A' diag(z) A, another z at every place, compiled: nothing of the size of rows is written."""

import numba
import numpy as np
from numpy.typing import NDArray

from hideseek.chance.compiled import compiled

PIECE = 128  # places: the vectors of a piece stay in a thread's cache

Matrix = NDArray[np.float32]
Rows = NDArray[np.int64]


@compiled(parallel=True, fastmath={"contract", "reassoc", "nsz"})
def pair_products(  # pragma: no cover (compiled)
    above: Matrix, sources: Rows, weights: Matrix, vectors: Matrix, products: Matrix
) -> None:
    """Set products = Σ_r z_r (a_r a_r' without its diagonal) v, for z and v of every place (a column).

    In the term of entry j of row r, only the other entries count: λ_j Σ_{i≠j} λ_i v_i.
    """
    rows, places = above.shape
    for piece in numba.prange((places + PIECE - 1) // PIECE):
        start, stop = piece * PIECE, min((piece + 1) * PIECE, places)
        wide = stop - start
        total = np.empty(PIECE, np.float32)
        products[:, start:stop] = 0
        for r in range(rows):
            row = above[r, start:stop]
            for q in range(wide):
                total[q] = np.float32(0)
            for j in range(sources.shape[1]):
                weight, vector = weights[r, j], vectors[sources[r, j], start:stop]
                for q in range(wide):
                    total[q] += weight * vector[q]
            for j in range(sources.shape[1]):
                image, weight = sources[r, j], weights[r, j]
                vector, product = vectors[image, start:stop], products[image, start:stop]
                for q in range(wide):
                    product[q] += weight * row[q] * (total[q] - weight * vector[q])
