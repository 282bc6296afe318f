"""Images that are right in part, from squares of their mixtures: leading eigenvectors, place by place."""

import math

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from hideseek.chance import Randomness
from hideseek.progress import track
from hideseek.records import Task
from hideseek.seek.systems.leading_vectors import Product, leading_vectors
from hideseek.seek.systems.mixture_solve import solve_work, solved
from hideseek.seek.systems.mixtures import Mixtures
from hideseek.seek.systems.phase_retrieval import PhaseProblem
from hideseek.seek.systems.pixel_signs import aligned
from hideseek.seek.systems.square_kernel import pair_products
from hideseek.seek.work import CALL, TOUCH

POOLED = 3  # pixels on a side whose squares are averaged
HIGHEST = 1.5  # squares, over what is expected, that count for more are cut: a few bright rows would rule
STEPS = 12  # of Lanczos' method: more follow single rows where these are few
PLACES = 512  # whose eigenvectors are sought together
SCALE = 0.45  # of the deviation of images: the start is far from sure


def spectral_start(problem: PhaseProblem, chance: Randomness) -> Float[Tensor, "n c h w"]:
    """Give images that are right in part, from squares: E[x̃²] − Σλ²x² holds 2 λ_a λ_b x_a x_b for each pair in a row.

    At every place, Σ_r z_r a_r a_r' without its diagonal has x for a leading eigenvector, z_r what a square, averaged
    over neighbours and colours, has above expectation. Signs over places are then aligned.
    """
    mixtures, (channels, height, width) = problem.mixtures, problem.magnitudes.shape[1:]
    squared = mixtures.squared()
    variance = float(problem.spectrum.variance.mean())
    usual = (squared.weights.sum(1) + problem.unknown).clamp_min(1e-6) * variance
    pooled = torch.cat([_pooled(problem.magnitudes[some]) for some in problem.parts()])
    energies = _energies(pooled, squared, problem.unknown)
    above = (pooled - energies) / usual[:, None]
    above = above.clamp(-1.0, HIGHEST).div_(usual[:, None] / variance)
    vectors = chance.normals(mixtures.images, height * width).to(above)
    for first in track(range(0, height * width, PLACES), "leading eigenvectors"):
        some = slice(first, first + PLACES)
        vectors[:, some] = leading_vectors(_product(mixtures, above[:, some]), vectors[:, some], STEPS)
    field = aligned(vectors.view(-1, height, width)) * math.sqrt(mixtures.images)
    start = field[:, None].expand(-1, channels, -1, -1) * problem.spectrum.variance.sqrt()
    return SCALE * start


def _product(mixtures: Mixtures, above: Float[Tensor, "m places"]) -> Product:
    """Give the product with Σ_r z_r a_r a_r' without its diagonal, at every place."""
    weighing, sources, weights = above.contiguous().numpy(), mixtures.sources.numpy(), mixtures.weights.numpy()

    def product(vectors: Float[Tensor, "n places"]) -> Float[Tensor, "n places"]:
        products = torch.empty_like(vectors, memory_format=torch.contiguous_format)
        pair_products(weighing, sources, weights, vectors.contiguous().numpy(), products.numpy())
        return products

    return product


def _pooled(magnitudes: Float[Tensor, "m c h w"]) -> Float[Tensor, "m places"]:
    """Average squares over neighbours and colours."""
    squares = magnitudes.square().mean(1, keepdim=True)
    padded = functional.pad(squares, (POOLED // 2,) * 4, mode="replicate")
    return functional.avg_pool2d(padded, POOLED, stride=1).flatten(1)


def _energies(
    pooled: Float[Tensor, "m places"], squared: Mixtures, unknown: Float[Tensor, " m"]
) -> Float[Tensor, "m places"]:
    """Give Σλ²x² of every row, the images' squares being fitted to all rows; that of unknown images is fitted, too."""
    extra = torch.full_like(squared.sources[:, :1], squared.images)
    both = Mixtures(
        torch.cat([squared.sources, extra], 1), torch.cat([squared.weights, unknown[:, None]], 1), squared.images + 1
    )
    ones = torch.ones_like(unknown)
    fitted, _ = solved(both, ones, 0.01 * float(both.diagonal(ones).mean()) + 1e-6, both.gathered(pooled))
    least = 0.1 * fitted[:-1].mean().clamp_min(1e-6)
    return both.mixed(fitted.clamp_min(least))


def start_work(task: Task) -> float:
    """Count squares, the power method at every place, and aligning."""
    places = float(task.items) * task.pixels / max(1, task.channels)
    steps = STEPS * (6 + task.images_per_item) * places * TOUCH / 2
    return 10.0 * task.items * task.pixels * TOUCH + steps + solve_work(task) + 5000 * CALL
