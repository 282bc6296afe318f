"""The signs of moved images whose mixtures are known but for signs: from products of images that met in a row."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from hideseek.chance import Randomness
from hideseek.progress import track
from hideseek.records import Task
from hideseek.seek.systems.moved_mixtures import MovedMixtures
from hideseek.seek.work import TOUCH

ENERGY_STEPS = 30
SIGN_STEPS = 60
SOFT, HARD = 0.5, 3.5  # how far signs follow their field, at first and at last
KEPT = 0.3  # of the signs of the step before
SMOOTH, COARSE = 3, 9  # pixels on a side of the means of fields, and of the fields at the start
PASSES = 60  # over every number of a row, for one image, forwards and backwards


def pooled(images: Float[Tensor, "n c h w"], side: int) -> Float[Tensor, "n c h w"]:
    """Give the means around every pixel."""
    around = functional.pad(images, (side // 2,) * 4, mode="replicate")
    return functional.avg_pool2d(around, side, stride=1)


def energies(
    squares: Float[Tensor, "m c h w"], mixtures: MovedMixtures, images: int, others: Float[Tensor, "m 1 1 1"]
) -> Float[Tensor, "n c h w"]:
    """Estimate the squares of images: x̃² = Σ_j λ_j² M_j x_j² + what others add + products, which have any sign.

    Least squares by steps along the gradient, never below zero. `others` is what public images add on average.
    """
    twice = mixtures.squared()
    load = twice.load(2, images).clamp_min(1e-12)
    found = squares.mean(0, keepdim=True).clamp_min(0).repeat(images, 1, 1, 1)
    blocks = mixtures.blocks(squares[0].numel())
    for _ in track(range(ENERGY_STEPS), "energies of images"):
        slope = torch.zeros_like(found)
        for rows in blocks:
            variable = found.clone().requires_grad_()
            rest = twice.some(rows).mixed(variable) + others[rows] - squares[rows]
            slope += torch.autograd.grad(rest.square().sum() / 2, variable)[0]
        found = (found - slope / (2 * load)).clamp_min(0)
    return found


def signed_images(
    squares: Float[Tensor, "m c h w"],
    mixtures: MovedMixtures,
    energy: Float[Tensor, "n c h w"],
    others: Float[Tensor, "m 1 1 1"],
    restarts: int,
    chance: Randomness,
) -> tuple[Float[Tensor, "n c h w"], float]:
    """Give the images with their signs, up to one sign of all of them, and how well the signs agree with the rows.

    What is left of x̃² without the squares of images is 2 Σ_{i<j} λ_i λ_j M_i x_i · M_j x_j: where it is positive, two
    images that met have the same sign. So signs are spins that attract or repel each other, smooth over neighbours, and
    common to colours; mean-field steps s ← tanh(β · field) with growing β find a state of low energy. Of several starts
    the one with the lowest counts.
    """
    lengths = pooled(energy, SMOOTH).mean(1, keepdim=True).sqrt()
    twice, blocks = mixtures.squared(), mixtures.blocks(squares[0].numel() + 2 * restarts * squares[0, 0].numel())
    left = torch.cat(
        [
            pooled(squares[rows] - others[rows] - twice.some(rows).mixed(energy), SMOOTH).mean(1, keepdim=True)
            for rows in blocks
        ]
    )
    height, width = squares.shape[2:]
    noise = chance.normals(len(energy), restarts, height, width)
    spins, agree = torch.tanh(COARSE * pooled(noise, COARSE)), torch.zeros(restarts)
    for step in track(range(SIGN_STEPS), "signs of images"):
        field, agree = torch.zeros_like(spins), torch.zeros(restarts)
        for rows in blocks:
            variable = (spins * lengths).requires_grad_()
            parts = mixtures.some(rows).parts(variable)
            pairs = torch.stack(parts).sum(0).square() - torch.stack([part.square() for part in parts]).sum(0)
            found = (left[rows] * pairs).sum((0, 2, 3))
            field += torch.autograd.grad(found.sum(), variable)[0]
            agree += found.detach()
        field = pooled(field * lengths, SMOOTH)
        field = field / field.square().mean((0, 2, 3), keepdim=True).sqrt().clamp_min(1e-30)
        hardness = SOFT + (HARD - SOFT) * step / SIGN_STEPS
        spins = (1 - KEPT) * torch.tanh(hardness * field) + KEPT * spins
    best = int(agree.argmax())
    return spins[:, best : best + 1] * energy.sqrt(), float(agree[best])


def signs_work(task: Task, per_row: int, restarts: int) -> float:
    """Count passes over every row and image in it, in all colours for energies, and for every start for signs."""
    each = float(task.items) * per_row * PASSES * TOUCH / 2
    return each * (ENERGY_STEPS * task.pixels + SIGN_STEPS * restarts * task.pixels / task.channels)
