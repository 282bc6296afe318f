"""Rows of a layer's gradient as guesses of its inputs, where no exact ones are found."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

ALIKE = 0.98  # cosine of two guesses of which one is left out
HEARD = 1e-3  # of the largest bias gradient: below that, a ratio is rounding


def mixed_inputs(matrix: Float[Tensor, "neurons inputs"], count: int) -> Float[Tensor, "found inputs"]:
    """Give up to so many ratios A_j / A_j,bias = Σ_i δ_ij x̃_i / Σ_i δ_ij, the shortest first, none twice.

    Weights of the images sum to one and may be negative: where few images count, the mixture is short. For one image
    it is the leading singular vector, to which all neurons contribute: noise averages out, and signs alone show it.
    """
    if count < 1:
        return matrix[:0]
    if count == 1:
        leading: Tensor = torch.linalg.eigh(matrix @ matrix.T)[1][:, -1] @ matrix
        last = leading[-1]
        if float(last.abs()) <= 1e-9 * float(leading.norm()):
            return leading[None] * (math.sqrt(len(leading)) / float(leading.norm()))
        return (leading / last)[None]
    bias = matrix[:, -1].abs()
    heard = (bias > HEARD * bias.max()).nonzero()[:, 0]
    rows = matrix[heard] / matrix[heard, -1:]
    rows = rows[rows.norm(dim=1).argsort()]
    units = rows / rows.norm(dim=1, keepdim=True)
    chosen: list[int] = []
    for place in range(len(rows)):
        if not chosen or float((units[chosen] @ units[place]).abs().max()) < ALIKE:
            chosen.append(place)
        if len(chosen) == count:
            break
    return rows[chosen]
