"""(A'DA + μ) x = b for all pixels at once: by a factor, or for many images without one."""

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.records import Task
from hideseek.seek.systems.conjugate_gradients import descended
from hideseek.seek.systems.mixtures import Mixtures
from hideseek.seek.work import DOUBLE, TOUCH

DENSE = 4000  # images that A'DA is factored for: 128 MB
STEPS = 40  # of conjugate gradients
COLUMNS = 128  # pixels that are solved for together


def solved(
    mixtures: Mixtures, row_weights: Float[Tensor, " m"], ridge: float, right: Float[Tensor, "n pixels"]
) -> tuple[Float[Tensor, "n pixels"], float]:
    """Give x, and the mean of the diagonal of (A'DA + μ)⁻¹: how far images are in doubt."""
    if mixtures.images > DENSE:
        return _descended(mixtures, row_weights, ridge, right)
    matrix = mixtures.products(row_weights)
    matrix.diagonal().add_(ridge)
    factor = torch.linalg.cholesky(matrix)
    spread = float(torch.cholesky_inverse(factor).diagonal().mean())
    return torch.cholesky_solve(right.double(), factor).float(), spread


def _descended(
    mixtures: Mixtures, row_weights: Float[Tensor, " m"], ridge: float, right: Float[Tensor, "n pixels"]
) -> tuple[Float[Tensor, "n pixels"], float]:
    """Do the same by conjugate gradients, scaled by the diagonal, which also stands for the inverse."""
    diagonal = (mixtures.diagonal(row_weights) + ridge)[:, None]
    answer = torch.empty_like(right)

    def product(vectors: Float[Tensor, "n some"]) -> Float[Tensor, "n some"]:
        return mixtures.gathered(row_weights[:, None] * mixtures.mixed(vectors)) + ridge * vectors

    for first in range(0, right.shape[1], COLUMNS):
        some = slice(first, first + COLUMNS)
        part = right[:, some].contiguous()
        answer[:, some] = descended(product, diagonal, part, torch.zeros_like(part), STEPS)
    return answer, float((1 / diagonal).mean())


def solve_work(task: Task) -> float:
    """Count a factor and its use, or the steps without one."""
    if task.images <= DENSE:
        return DOUBLE * float(task.images) ** 2 * (task.pixels + task.images)
    mixed = 2.0 * task.images_per_item * task.items * task.pixels * TOUCH / 8
    return STEPS * (mixed + 8.0 * task.images * task.pixels * TOUCH)
