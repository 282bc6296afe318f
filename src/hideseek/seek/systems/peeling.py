"""Peeling: neurons that fire for one image alone show it, and what they show can be taken away.

Row j of A = [∂L/∂W | ∂L/∂b] is Σ_i δ_ij x̃_i'. Where one image excites neuron j, A_j / A_j,bias is x̃_i, and W̃ x̃_i says
which neurons that image excites. Its δ_i is then the one vector of A's columns that vanishes at all others, and
A − δ_i x̃_i' is the gradient of a smaller batch, in which further neurons have one image left (as LT codes are decoded).
A row of several images fails: no vector of the columns has the zeros that such an image asks for.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.seek.systems.sparse_directions import LIVE, SEVERAL, SILENT, SPARE, Factors

PARALLEL = 1e-9  # 1 − cosine of two rows of one image
EXACT = 1e-3  # of the longest row: shorter ones have too much of float32's rounding
ALONE = 64  # rows without a parallel one that are tried: those that as images are shortest, since mixtures are long


def peel(parts: Factors) -> tuple[Factors, Float[Tensor, "found inputs"], Float[Tensor, "found neurons"]]:
    """Give what is left of A, the images that were found one after the other, and their δ."""
    smallest = LIVE * parts.coarse * parts.left.norm(dim=1).max()
    images, errors = [], []
    while parts.rank > 1:
        some = _peeled(parts, smallest)
        if some is None:
            break
        coordinates, error = some
        images.append(coordinates @ parts.right)
        errors.append(error)
        parts = without(parts, coordinates, error)
    empty = parts.left.new_zeros
    return (
        parts,
        torch.stack(images) if images else empty(0, parts.right.shape[1]),
        torch.stack(errors) if errors else empty(0, len(parts.left)),
    )


def without(parts: Factors, coordinates: Tensor, error: Tensor) -> Factors:
    """Take one image away, and factorise again."""
    left, values, turn = torch.linalg.svd(parts.left - error[:, None] * coordinates, full_matrices=False)
    turn = turn[:-1]
    return Factors(left[:, :-1] * values[:-1], turn @ parts.right, parts.layer @ turn.T, parts.coarse)


def _peeled(parts: Factors, smallest: Tensor) -> tuple[Tensor, Tensor] | None:
    """Find a row that holds one image, with its coordinates and δ; rows parallel to others come first."""
    lengths = parts.left.norm(dim=1)
    live = (lengths > smallest).nonzero()[:, 0]
    rows = parts.left[live] / lengths[live, None]
    parallel = 1 - min(PARALLEL * parts.coarse**2, 1e-3)
    bias = parts.left[live] @ parts.right[:, -1]
    length = torch.where(bias.abs() > smallest, lengths[live] / bias.abs().clamp_min(1e-300), torch.inf)
    together = ((rows @ rows.T).abs() > parallel).sum(1)
    length = torch.where(lengths[live] > max(EXACT, 10 * LIVE * parts.coarse) * lengths.max(), length, torch.inf)
    several = (together > 1) & length.isfinite()
    first = (together * several + lengths[live] / lengths.max()).argsort(descending=True)[: int(several.sum())]
    order = [*first.tolist(), *length.masked_fill(several, torch.inf).argsort()[:ALONE].tolist()]
    tried: list[Tensor] = []
    for place in order:
        if not bool(length[place].isfinite()) or any(float((rows[place] @ one).abs()) > parallel for one in tried):
            continue
        tried.append(rows[place])
        coordinates = parts.left[live[place]] / bias[place]
        error = error_of(parts, rows, live, coordinates)
        if error is not None:
            return coordinates, error
    return None


def error_of(parts: Factors, rows: Tensor, live: Tensor, coordinates: Tensor) -> Tensor | None:
    """Give δ of an image, which is unique and vanishes where the layer says that the image is silent; else None."""
    silent = parts.layer[live] @ coordinates < 0
    if int(silent.sum()) < parts.rank - 1 + SPARE:
        return None
    values, vectors = torch.linalg.eigh(rows[silent].T @ rows[silent])
    zero, alone = SILENT * parts.coarse**2, max(SEVERAL, 10 * SILENT * parts.coarse**2)
    if float(values[0]) > zero * float(values[-1]) or float(values[1]) < alone * float(values[-1]):
        return None
    error: Tensor = parts.left @ (vectors[:, 0] / (vectors[:, 0] @ coordinates))
    return error
