"""Weights of the images in a row, where the label tells only what those of a class sum to."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.seek.signals.row_slots import RowSlots
from hideseek.seek.systems.mixtures import Mixtures

FIRM = 100.0  # how much more the label counts than the pixels
LEAST = 0.01  # a weight
TURNS = 4  # of signs and weights
BLOCK = 1024  # rows at a time


def fitted_weights(
    magnitudes: Float[Tensor, "m c h w"],
    images: Float[Tensor, "n c h w"],
    slots: RowSlots,
    sources: Int[Tensor, "m k"],
    weights: Float[Tensor, "m k"],
) -> Float[Tensor, "m k"]:
    """Fit weights to |x̃|, with the signs of the sum that they give, in turn; exact ones stay.

    Least squares, in which the sums over classes are those of the label, where there is one.
    """
    flat, owners = images.flatten(1), slots.image_classes[sources]
    answer = weights.clone()
    for some in (~slots.exact).nonzero()[:, 0].split(BLOCK):
        found, rows = flat[sources[some]], magnitudes[some].flatten(1)
        matrix = found @ found.mT
        scale = matrix.diagonal(dim1=1, dim2=2).mean(1)[:, None, None].clamp_min(1e-9)
        matrix = matrix + 1e-3 * scale * torch.eye(matrix.shape[1])
        together = (owners[some][:, :, None] == owners[some][:, None, :]).float()
        wanted = slots.masses[some].gather(1, owners[some])
        firm = FIRM if slots.labelled else 0.0
        for _ in range(TURNS):
            mixed = Mixtures(sources[some], answer[some], len(images)).mixed(flat)
            right = (found @ (rows * mixed.sign())[:, :, None])[..., 0]
            solution = torch.linalg.solve(matrix + firm * scale * together, right + firm * scale[:, 0] * wanted)
            answer[some] = solution.clamp(LEAST, 1.0)
    return answer
