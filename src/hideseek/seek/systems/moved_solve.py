"""Images from mixtures of moved images: the likeliest ones, with signs unknown, and where exactly they were moved."""

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.progress import track
from hideseek.records import Task
from hideseek.seek.signals.whitening import Whitening
from hideseek.seek.systems.moved_mixtures import MovedMixtures
from hideseek.seek.systems.moved_signs import PASSES
from hideseek.seek.work import TOUCH

RATE, SHIFT_RATE = 0.05, 0.03  # of Adam: of white images, and of shifts in pixels
STILL = 0.3  # of the steps: until then shifts stay, since images are not sharp enough to tell them
FOLLOW = 0.2  # how fast the variances of rows follow what is left of them
FLOOR = 1e-3  # of the mean square of rows: interpolation is no better


def from_white(white: Float[Tensor, "n c h w"], spectrum: Whitening) -> Float[Tensor, "n c h w"]:
    """Give the images of components of unit variance: of principal colours and frequencies."""
    coloured = spectrum.rows.T @ (white * spectrum.deviations) @ spectrum.columns
    return (spectrum.colours @ coloured.flatten(2)).view_as(coloured)


def likeliest(
    rows: Float[Tensor, "m c h w"],
    mixtures: MovedMixtures,
    start: Float[Tensor, "n c h w"],
    spectrum: Whitening,
    steps: int,
    *,
    masked: bool,
) -> tuple[Float[Tensor, "n c h w"], MovedMixtures, Float[Tensor, " m"]]:
    """Improve images, and the shifts of all their uses, by Adam; give them with the variance of what each row has left.

    A row is ±(m + noise), m its mixture, with signs that are coin tosses and noise of variance v for each row: of
    public images, of images that are not in the row, of interpolation. So the likelihood of a pixel x̃ is
    cosh(x̃ m / v) exp(−(x̃² + m²) / 2v) / √v, without a mask exp(−(x̃ − m)² / 2v) / √v; that of an image is
    its spectrum's. The variances are those that are likeliest given the images of the step before.
    """
    height, width = rows.shape[2:]
    floor = FLOOR * float(rows.square().mean()) + 1e-30
    white = (spectrum.spectrum(start) / spectrum.deviations).detach().clone().requires_grad_()
    shifts = torch.zeros(*mixtures.sources.shape, 2, requires_grad=True)
    pixels = torch.tensor([2 / width, 2 / height])
    optimiser = torch.optim.Adam([{"params": [white], "lr": RATE}, {"params": [shifts], "lr": SHIFT_RATE}])
    blocks = mixtures.blocks(rows[0].numel())
    variances = torch.zeros(len(rows), 1, 1, 1)
    for step in track(range(steps), "likeliest images"):
        optimiser.zero_grad()
        (white.square().sum() / 2).backward()
        for part in blocks:
            placed = mixtures.some(part)
            if step >= STILL * steps:
                placed = replace(placed, moves=_shifted(placed.moves, shifts[part] * pixels))
            mixed = placed.mixed(from_white(white, spectrum))
            left = _left(rows[part], mixed.detach(), variances[part] if step else None, masked=masked)
            variances[part] = left if not step else (1 - FOLLOW) * variances[part] + FOLLOW * left
            now = variances[part].clamp_(min=floor)
            _cost(rows[part], mixed, now, masked=masked).backward()
        optimiser.step()
    found = replace(mixtures, moves=_shifted(mixtures.moves, shifts.detach() * pixels))
    return from_white(white.detach(), spectrum), found, variances.flatten()


def _shifted(moves: Float[Tensor, "m k 2 3"], by: Float[Tensor, "m k 2"]) -> Float[Tensor, "m k 2 3"]:
    return torch.cat([moves[..., :2], moves[..., 2:] + by[..., None]], -1)


def _left(rows: Tensor, mixed: Tensor, variances: Tensor | None, *, masked: bool) -> Tensor:
    """Give the mean of (x̃ − s m)² in each row, s the expected sign."""
    if not masked:
        return (rows - mixed).square().mean((1, 2, 3), keepdim=True)
    both = rows.square() + mixed.square()
    if variances is None:
        return both.mean((1, 2, 3), keepdim=True)
    products = rows * mixed
    return (both - 2 * torch.tanh(products / variances) * products).mean((1, 2, 3), keepdim=True)


def _cost(rows: Tensor, mixed: Tensor, variances: Tensor, *, masked: bool) -> Tensor:
    """Give −log of the likelihood, without what does not depend on the images."""
    if not masked:
        return ((rows - mixed).square() / (2 * variances)).sum()
    product = (rows * mixed / variances).abs()
    log_cosh = product + torch.log1p(torch.exp(-2 * product))
    return (mixed.square() / (2 * variances) - log_cosh).sum()


def solve_work(task: Task, per_row: int, steps: int) -> float:
    """Count passes over every row and image in it."""
    return float(steps) * task.items * task.pixels * (per_row + 1) * PASSES * TOUCH
