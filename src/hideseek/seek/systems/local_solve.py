"""A x = y in least squares where equations count differently from place to place: by conjugate gradients."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from hideseek.records import Task
from hideseek.seek.systems.conjugate_gradients import descended
from hideseek.seek.systems.mixtures import Mixtures
from hideseek.seek.systems.phase_retrieval import FLOOR
from hideseek.seek.work import TOUCH

WIDTH = 5  # places on a side that local energy is averaged over
LEAST = 0.1  # of the mean energy, added everywhere
STEPS = 5
PLACES = 64  # solved for together


def local_weights(residual: Float[Tensor, "m c h w"]) -> Float[Tensor, "m 1 h w"]:
    """Give one over the local energy of a white residual of rows, in units of the variance of images.

    What hides images in rows are other images, smooth here and busy there; and where signs are wrong, they are so in
    patches. Both show as energy.
    """
    energy = functional.pad(residual.square().mean(1, keepdim=True), (WIDTH // 2,) * 4, mode="replicate")
    local = functional.avg_pool2d(energy, WIDTH, stride=1)
    return (1 + LEAST) / (local + LEAST * local.mean((2, 3), keepdim=True) + FLOOR)


def locally_solved(
    mixtures: Mixtures,
    weights: Float[Tensor, "m places"],
    ridge: float,
    right: Float[Tensor, "n c places"],
    start: Float[Tensor, "n c places"],
) -> Float[Tensor, "n c places"]:
    """Solve (A'D_pA + μ) x_p = b_p at every place p, D_p the weights there, from a start that is nearly right.

    Each image is in many rows and each row has few images, so that the diagonal scales the equations well.
    """
    answer, squared, channels = torch.empty_like(right), mixtures.squared(), right.shape[1]
    for first in range(0, right.shape[2], PLACES):
        some = slice(first, first + PLACES)
        here = weights[:, some].contiguous()
        diagonal = squared.gathered(here)[:, None] + ridge

        def product(
            vectors: Float[Tensor, "n c some"], here: Float[Tensor, "m some"] = here
        ) -> Float[Tensor, "n c some"]:
            rows = mixtures.mixed(vectors.flatten(1)).view(-1, channels, here.shape[1])
            rows *= here[:, None]
            return mixtures.gathered(rows.flatten(1)).view_as(vectors) + ridge * vectors

        found = start[..., some].contiguous()
        answer[..., some] = descended(product, diagonal, right[..., some] - product(found), found, STEPS)
    return answer


def local_work(task: Task) -> float:
    """Count the products with rows, and what is done to images."""
    rows = float(task.items) * task.pixels * (2 * task.images_per_item + 4) * TOUCH / 8
    return (STEPS + 2) * (rows + 8.0 * task.images * task.pixels * TOUCH)
