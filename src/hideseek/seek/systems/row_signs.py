"""Signs of rows from all of their pixels at once: what is unknown in a row has the spectrum of images."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.records import Task
from hideseek.seek.systems.image_spectrum import ImageSpectrum
from hideseek.seek.work import CALL, TOUCH

STEPS = 6
DAMPED = 0.5  # of a step is taken: undamped steps may go to and fro
WHITE = 0.05  # of the variance of what is unknown is taken to be white: images that are known are so with errors
RANGE = 1e5  # by which precisions may differ from that of what is unknown
BLOCK = 32  # rows worked on together: what there is for each of their pixels stays in the cache


def expected_rows(
    magnitudes: Float[Tensor, "m c h w"],
    mean: Float[Tensor, "m c h w"],
    unknown: Float[Tensor, " m"],
    spectrum: ImageSpectrum,
    steps: int = STEPS,
) -> Float[Tensor, "m c h w"]:
    """Give E s where |s| = x̃, s ~ N(m, v K): m is the mean, v = `unknown`, and K the covariance of images.

    By expectation propagation (Minka 2001) with one precision for all pixels of a row, so that each step is two cosine
    transforms. Pixels, each told N(r, 1/γ) by the others, expect x̃ tanh(γ x̃ r); what they tell in turn, N(r', 1/γ'),
    a Wiener filter makes smooth. Neither is told again what it said itself.
    """
    parts = zip(magnitudes.split(BLOCK), mean.split(BLOCK), unknown.split(BLOCK), strict=True)
    return torch.cat([_expected(*part, spectrum, steps) for part in parts])


def _expected(
    magnitudes: Float[Tensor, "m c h w"],
    mean: Float[Tensor, "m c h w"],
    unknown: Float[Tensor, " m"],
    spectrum: ImageSpectrum,
    steps: int,
) -> Float[Tensor, "m c h w"]:
    """Give E s of some rows."""
    basis, power = spectrum.basis, spectrum.basis.deviations.square()
    level = power.mean()
    energies = unknown.clamp_min(1e-6)[:, None, None, None]
    usual = 1 / (energies * level)
    least, most = usual / RANGE, usual * RANGE
    power = energies * (power + WHITE * level)
    told, sharp = mean.clone(), usual
    squares = magnitudes.square().mean((1, 2, 3), keepdim=True)
    said, saying = torch.zeros_like(mean), torch.zeros_like(usual)
    for step in range(steps):
        taken = DAMPED if step else 1.0
        pushed = told.mul_(sharp)
        signed = (magnitudes * pushed).tanh_().mul_(magnitudes)
        doubt = (squares - signed.square().mean((1, 2, 3), keepdim=True)).clamp_min(1e-6 * level * energies)
        said.lerp_(signed.div_(doubt).sub_(pushed), taken)
        saying = torch.lerp(saying, (1 / doubt - sharp).clamp(least, most), taken)
        gain = power / (1 / saying + power)
        smooth = basis.images(basis.spectrum(said / saying - mean).mul_(gain)).add_(mean)
        sure = saying / gain.mean((1, 2, 3), keepdim=True)
        sharp = (sure - saying).clamp(least, most)
        told = smooth.mul_(sure).sub_(said).div_(sharp)
    return magnitudes * torch.tanh(magnitudes * told * sharp)


def signs_work(task: Task, steps: int = STEPS) -> float:
    """Count the transforms of all rows."""
    height = math.sqrt(max(1.0, task.pixels / max(1, task.channels)))
    return steps * (float(task.items) * task.pixels * (4 * height + 2 * task.channels + 15 * TOUCH) + 100 * CALL)
