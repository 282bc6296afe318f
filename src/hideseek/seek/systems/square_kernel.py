"""Products with A' diag(z) A, another z at every place, compiled: nothing of the size of rows is written."""

import numpy as np
from numpy.typing import NDArray

from hideseek.chance.compiled import compiled, on_threads

PIECE = 128  # places: the vectors of a piece stay in a thread's cache

Matrix = NDArray[np.float32]
Rows = NDArray[np.int64]


def pair_products(above: Matrix, sources: Rows, weights: Matrix, vectors: Matrix, products: Matrix) -> None:
    """Set products = Σ_r z_r (a_r a_r' without its diagonal) v, for z and v of every place (a column).

    In the term of entry j of row r, only the other entries count: λ_j Σ_{i≠j} λ_i v_i.
    """
    on_threads(_products, -(-above.shape[1] // PIECE), above, sources, weights, vectors, products)


@compiled(fastmath={"contract", "reassoc", "nsz"})
def _products(  # pragma: no cover (compiled)
    first: int, last: int, above: Matrix, sources: Rows, weights: Matrix, vectors: Matrix, products: Matrix
) -> None:
    rows, places = above.shape
    for piece in range(first, last):
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
