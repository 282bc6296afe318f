"""How alike two images are: one score a pair, with the range of the data said by the caller, never guessed."""

import math
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from hideseek.errors import BadInput

Images = Float[Tensor, "n c h w"]
Scores = Float[Tensor, " n"]

UNIFORM, GAUSSIAN = 7, 11  # pixels on a side of SSIM's windows
SIGMA = 1.5  # of the Gaussian window


def l2(truth: Images, guess: Images) -> Scores:
    """Give the distance ‖x − x̂‖₂.

    >>> l2(torch.zeros(1, 1, 2, 2), torch.ones(1, 1, 2, 2))
    tensor([2.])
    """
    _, _, error = _flat(truth, guess)
    return error.square().sum(1).sqrt()


def snr(truth: Images, guess: Images) -> Scores:
    """Give the signal-to-noise ratio in decibels, 10 log₁₀ (‖x‖² / ‖x − x̂‖²).

    For images of mean zero, answering with the mean image scores 0: what is below has found less than nothing.

    >>> snr(torch.tensor([[[[3.0, 0.0]]]]), torch.zeros(1, 1, 1, 2))
    tensor([0.])
    """
    x, _, error = _flat(truth, guess)
    return 10 * (x.square().sum(1) / error.square().sum(1)).log10()


def psnr(truth: Images, guess: Images, data_range: float) -> Scores:
    """Give the peak signal-to-noise ratio in decibels, 10 log₁₀ (L² / mean (x − x̂)²), for data of width L.

    >>> psnr(torch.zeros(1, 1, 1, 2), torch.full((1, 1, 1, 2), 0.1), data_range=1.0)
    tensor([20.])
    """
    _, _, error = _flat(truth, guess)
    return 10 * (data_range**2 / error.square().mean(1)).log10()


def ssim(truth: Images, guess: Images, data_range: float, window: Literal["uniform", "gaussian"] = "uniform") -> Scores:
    """Give the structural similarity (Wang et al. 2004), averaged over channels and places.

    `uniform`: windows of 7×7 and sample covariances, as scikit-image does unless told otherwise. `gaussian`: weights of
    σ = 1.5 in 11×11 pixels and covariances of the population, as in the paper. Windows lie inside the image.
    """
    _flat(truth, guess)
    channels = truth.shape[1]
    weights = _window(window).to(truth)
    side = len(weights)
    if min(truth.shape[2:]) < side:
        raise BadInput(f"SSIM with a {window} window needs images of at least {side}×{side} pixels.")
    kernel = weights.expand(channels, 1, side, side)

    def local_mean(values: Images) -> Images:
        return functional.conv2d(values, kernel, groups=channels)

    mean_x, mean_y = local_mean(truth), local_mean(guess)
    sample = side**2 / (side**2 - 1) if window == "uniform" else 1.0
    variance_x = sample * (local_mean(truth * truth) - mean_x * mean_x)
    variance_y = sample * (local_mean(guess * guess) - mean_y * mean_y)
    covariance = sample * (local_mean(truth * guess) - mean_x * mean_y)
    c1, c2 = (0.01 * data_range) ** 2, (0.03 * data_range) ** 2
    values = ((2 * mean_x * mean_y + c1) * (2 * covariance + c2)) / (
        (mean_x.square() + mean_y.square() + c1) * (variance_x + variance_y + c2)
    )
    return values.flatten(1).mean(1)


def correlation(truth: Images, guess: Images) -> Scores:
    """Give Pearson's correlation of the pixels; 0 where one image has a single value.

    >>> correlation(torch.tensor([[[[1.0, 2.0, 3.0]]]]), torch.tensor([[[[5.0, 3.0, 1.0]]]])).round()
    tensor([-1.])
    """
    x, y, _ = _flat(truth, guess)
    x, y = x - x.mean(1, keepdim=True), y - y.mean(1, keepdim=True)
    scale = x.norm(dim=1) * y.norm(dim=1)
    return torch.where(scale > 0, (x * y).sum(1) / scale.clamp_min(1e-30), 0.0)


def absolute_correlation(truth: Images, guess: Images) -> Scores:
    """Give the correlation of absolute values: what is under a mask of signs has lost the signs."""
    return correlation(truth.abs(), guess.abs())


def _flat(truth: Images, guess: Images) -> tuple[Tensor, Tensor, Tensor]:
    """Give both as rows, and their difference."""
    if truth.shape != guess.shape:
        raise BadInput(f"images of {tuple(truth.shape)} cannot be compared with {tuple(guess.shape)}, one by one.")
    x, y = truth.flatten(1).float(), guess.flatten(1).float()
    return x, y, x - y


def _window(kind: str) -> Float[Tensor, "side side"]:
    """Give the weights of a window, which sum to one."""
    if kind == "uniform":
        return torch.full((UNIFORM, UNIFORM), 1 / UNIFORM**2)
    places = torch.arange(GAUSSIAN, dtype=torch.float64) - GAUSSIAN // 2
    line = torch.tensor([math.exp(-(place**2) / (2 * SIGMA**2)) for place in places.tolist()], dtype=torch.float64)
    line = line / line.sum()
    return torch.outer(line, line)
