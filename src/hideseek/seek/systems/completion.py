"""Entries that were pruned from a matrix of low rank, from those that are left."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

RIDGE = 1e-9  # of the mean diagonal: what few entries leave open is filled as small as possible
ENOUGH = 2e-6  # relative error of known entries, before double precision
SPARE = 1.2  # times as many entries as the rank: fewer do not determine a row
LAST = 4  # steps that are in double precision in any case
ROUNDING = 3e-8  # of float32: no better fit means anything


def completed(
    matrix: Float[Tensor, "m d"], known: Bool[Tensor, "m d"], rank: int, steps: int
) -> tuple[Float[Tensor, "m d"], float]:
    """Give the matrix of that rank that fits the known entries, and how badly it fits them: alternating least squares.

    Pruned entries are small, so that the leading vectors of the matrix with zeros in their place are a good start. Each
    step solves min Σ_known (A_jk − l_j · r_k)² for all rows l_j, then for all columns r_k. Rows with too few entries
    are left out, and are zero in what is given.
    """
    enough = known.sum(1) >= SPARE * rank
    scale = float(matrix.abs().mean())
    if int(enough.sum()) <= rank or scale == 0:
        return matrix, 1.0
    some, mask = (matrix[enough] / scale).double(), known[enough].double()
    right = torch.linalg.qr((torch.linalg.eigh(some @ some.T)[1][:, -rank:].T @ some).T)[0]
    error, norm = 1.0, float(some.norm())
    for number in range(steps):
        exact = number >= steps - LAST or error < ENOUGH
        values, places, right = (each.double() if exact else each.float() for each in (some, mask, right))
        left = torch.linalg.qr(_solve(values, places, right))[0]
        right = _solve(values.T, places.T, left)
        before, error = error, float(((left @ right.T - values) * places).norm()) / norm
        right = torch.linalg.qr(right)[0]
        if exact and (error < ROUNDING or error > 0.9 * before):
            break
    found = torch.zeros_like(matrix, dtype=torch.float64)
    found[enough] = scale * (_solve(some, mask, right.double()) @ right.double().T)
    return found, error


def _solve(matrix: Tensor, mask: Tensor, factor: Tensor) -> Tensor:
    """Give, for each row, the least-squares coefficients of its known entries by a factor's columns."""
    rank = factor.shape[1]
    upper = torch.triu_indices(rank, rank)
    normal = matrix.new_zeros(len(matrix), rank, rank)
    normal[:, upper[0], upper[1]] = mask @ (factor[:, upper[0]] * factor[:, upper[1]])
    normal = normal + normal.triu(1).transpose(1, 2)
    diagonal = normal.diagonal(dim1=1, dim2=2)
    ridge = RIDGE if matrix.dtype == torch.float64 else 100 * RIDGE
    diagonal += ridge * diagonal.mean().clamp_min(1e-30)
    found: Tensor = torch.linalg.solve_ex(normal, ((matrix * mask) @ factor)[:, :, None])[0][:, :, 0]
    return found.nan_to_num()
