"""Images from absolute values of their mixtures, |A x + u|: EM over the unknown signs, annealed."""

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.chance.compiled import on_threads
from hideseek.progress import track
from hideseek.records import Task
from hideseek.seek.systems.image_spectrum import ImageSpectrum
from hideseek.seek.systems.mixture_solve import solve_work, solved
from hideseek.seek.systems.mixtures import Mixtures
from hideseek.seek.systems.sign_kernel import PIECE, gather_signed
from hideseek.seek.work import CALL, TOUCH

BLOCK = 1 << 23  # numbers of rows that are worked on together: 32 MB
FIRST_ERROR, LAST_ERROR = 2.0, 0.02  # of the variance of images: what the annealing begins and ends with
SURE_ERROR = 0.004  # and what the last steps assume
LOOKED_AT = 1000  # rows that a likelihood is told from
FLOOR = 0.002  # of the variance of images, that rows are never known better than while signs are in doubt
SMOOTHING = 2.0  # the white noise that images are freed of, in units of the assumed error
WHITE = 0.2  # of what is left in doubt is taken to be white: the rest is unknown images


@dataclass(frozen=True)
class PhaseProblem:
    """|A x + known + u| for all rows: u, what is unknown beside the images, has a variance for every row."""

    magnitudes: Float[Tensor, "m c h w"]
    mixtures: Mixtures
    unknown: Float[Tensor, " m"]
    """Σλ² of the unknown images in a row."""
    mass: Float[Tensor, " m"]
    """Σλ of the unknown images in a row: the mean image has this weight in it."""
    spectrum: ImageSpectrum
    known: Float[Tensor, "m c h w"] | None = None
    """What else is known to be in the rows, such as public images that were found."""

    def doubt(self, error: float) -> Float[Tensor, " m"]:
        """Give how far rows are in doubt where images are by this share of their variance."""
        return self.unknown + self.mixtures.energies() * error + FLOOR

    def parts(self) -> list[slice]:
        """Divide the rows so that some numbers for each of their pixels fit into the cache or memory."""
        step = max(1, BLOCK // math.prod(self.magnitudes.shape[1:]))
        return [slice(first, first + step) for first in range(0, len(self.magnitudes), step)]


def annealed(problem: PhaseProblem, images: Float[Tensor, "n c h w"], steps: int) -> Float[Tensor, "n c h w"]:
    """Improve images by EM with soft signs, under an error that falls: at first only large differences count.

    While x is in doubt by ε² of its variance, A x is in doubt by Σλ²ε², beside the unknown images: with a large ε the
    step is that of a power method, smoothed over places, which does not get caught where EM alone does. The mean of
    unknown images is left out: while x is small it would outweigh x, and all signs would follow it.
    """
    without = replace(problem, mass=torch.zeros_like(problem.mass))
    for step in track(range(steps), "images and signs in turn"):
        error = FIRST_ERROR * (LAST_ERROR / FIRST_ERROR) ** (step / max(1, steps - 1))
        images, _ = em_step(without, images, problem.doubt(error), error)
    return images


def refined(problem: PhaseProblem, images: Float[Tensor, "n c h w"], steps: int) -> Float[Tensor, "n c h w"]:
    """Go on with images whose signs are nearly right, with the mean of unknown images."""
    for _ in track(range(steps), "refining"):
        images, _ = em_step(problem, images, problem.doubt(SURE_ERROR), SURE_ERROR)
    return images


def log_likelihood(problem: PhaseProblem, images: Float[Tensor, "n c h w"]) -> float:
    """Give the mean log-likelihood of a pixel of a row, but for a constant.

    It tells images from their negatives where unknown images have a mean, or something is known.
    """
    some = slice(None, None, max(1, len(problem.magnitudes) // LOOKED_AT))
    mean = (
        problem.mixtures.some(some).mixed(images.flatten(1))
        + problem.mass[some, None] * problem.spectrum.mean.flatten()
    )
    if problem.known is not None:
        mean += problem.known[some].flatten(1)
    magnitudes = problem.magnitudes[some].flatten(1)
    variance = problem.doubt(SURE_ERROR)[some, None] * problem.spectrum.variance.flatten()
    return float(row_likelihoods(magnitudes, mean, variance).double().mean())


def row_likelihoods(magnitudes: Tensor, mean: Tensor, variance: Tensor) -> Float[Tensor, " m"]:
    """Give for each row the mean of log(N(x̃; m, v) + N(−x̃; m, v)) over its pixels, but for a constant."""
    product = (magnitudes * mean / variance).abs()
    logs = (
        product
        + torch.log1p(torch.exp(-2 * product.clamp_max(20.0)))
        - (magnitudes.square() + mean.square()) / (2 * variance)
    )
    return (logs - variance.log() / 2).flatten(1).mean(1)


def em_step(
    problem: PhaseProblem, images: Float[Tensor, "n c h w"], doubt: Float[Tensor, " m"], error: float
) -> tuple[Float[Tensor, "n c h w"], Float[Tensor, " m"]]:
    """Take one step, and give each row's doubt as it is seen: E(s − m)², in units of the variance of images.

    With s = σ x̃, m = A x + rest and s − m ~ N(0, v): E s = x̃ tanh(x̃ m / v), and x = (A'D⁻¹A + 1)⁻¹ A'D⁻¹ (E s − rest),
    D the doubt: unknown images have the spectrum of images, so that one matrix serves all pixels. What is left of wrong
    signs is white.
    """
    mixtures, spectrum = problem.mixtures, problem.spectrum
    gathered, seen = signed_sums(problem, images, doubt)
    found, spread = solved(mixtures, 1 / doubt, 1.0, gathered)
    noise = float(spectrum.variance.mean()) * (SMOOTHING * error + WHITE * spread)
    return spectrum.without_noise(found.view_as(images), noise), seen


def signed_sums(
    problem: PhaseProblem, images: Float[Tensor, "n c h w"], doubt: Float[Tensor, " m"]
) -> tuple[Float[Tensor, "n pixels"], Float[Tensor, " m"]]:
    """Give A'D⁻¹(E s − rest), and the doubt that is seen."""
    mixtures, pixels = problem.mixtures, math.prod(images.shape[1:])
    gathered = np.empty((mixtures.images, pixels), np.float32)
    seen = np.zeros((-(-pixels // PIECE), len(doubt)), np.float32)
    known = problem.magnitudes.new_empty(0, 1) if problem.known is None else problem.known.flatten(1)
    on_threads(
        gather_signed,
        len(seen),
        problem.magnitudes.flatten(1).numpy(),
        images.flatten(1).contiguous().numpy(),
        mixtures.sources.numpy(),
        mixtures.weights.contiguous().numpy(),
        problem.mass.numpy(),
        problem.spectrum.mean.flatten().contiguous().numpy(),
        known.numpy(),
        doubt.numpy(),
        problem.spectrum.variance.flatten().contiguous().numpy(),
        gathered,
        seen,
    )
    return torch.from_numpy(gathered), torch.from_numpy(seen.sum(0)) / pixels


def retrieval_work(task: Task, steps: int) -> float:
    """Count the steps: some ten passes over all rows each, and solving."""
    numbers = float(task.items) * task.pixels
    each = (12 + 2 * task.images_per_item) * numbers * TOUCH / 2 + 20.0 * task.images * task.pixels * TOUCH
    return steps * (each + solve_work(task) + 100 * CALL)
