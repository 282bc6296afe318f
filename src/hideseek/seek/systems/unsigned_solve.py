"""Images from the absolute values of their mixtures, by gradient steps, as Carlini et al. published it."""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from hideseek.progress import track
from hideseek.seek.work import TOUCH

RATE = 0.01  # of Adam
CONTRAST = 0.05  # the weight of mean (1 − |x|), which keeps images from being flat
BLOCK = 1 << 22  # numbers of rows at a time


def unsigned_solve(
    rows: Float[Tensor, "m pixels"],
    sources: Int[Tensor, "m k"],
    weights: Float[Tensor, "m k"],
    images: int,
    steps: int,
) -> Float[Tensor, "n pixels"]:
    """Minimise the mean of min over ± of (|x̃| ∓ Σ_j λ_j x_j)², plus 0.05 · mean (1 − |x|), by Adam from zero.

    At a mixture of zero both signs are as good, and |m| has no gradient: the residual is |x̃| − m there, and wherever
    m ≥ 0, else |x̃| + m.
    """
    values = rows.abs()
    found = torch.zeros(images, rows.shape[1], requires_grad=True)
    optimiser = torch.optim.Adam([found], lr=RATE)
    size = max(1, BLOCK // max(1, rows.shape[1]))
    for _ in track(range(steps), "solving for images"):
        optimiser.zero_grad()
        (CONTRAST * (1 - found.abs()).mean()).backward()
        for first in range(0, len(rows), size):
            part = slice(first, first + size)
            mixed = functional.embedding_bag(sources[part], found, mode="sum", per_sample_weights=weights[part])
            residual = torch.where(mixed >= 0, values[part] - mixed, values[part] + mixed)
            (residual.square().sum() / values.numel() * len(rows) / images).backward()
        optimiser.step()
    return found.detach()


def solve_work(items: int, per_row: int, pixels: int, steps: int) -> float:
    """Count passes over every row and image in it."""
    return float(steps) * items * pixels * (4 + 4 * per_row) * TOUCH
