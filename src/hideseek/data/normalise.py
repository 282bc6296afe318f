"""From raw pixels to the values that are mixed, without touching a pixel."""

from dataclasses import replace
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float64, Shaped
from torch import Tensor

from hideseek.data.store import allocate, pieces
from hideseek.errors import BadInput
from hideseek.records import Normalisation, Samples

_EXACT = 256  # that many squares of bytes sum to less than 2^24, so float32 adds them without rounding
_WORKING_SET = 3 << 18  # numbers at a time: what stays in a core's cache
_ROUNDING = 1e-13  # a variance below this share of the mean square is rounding


def normalise(samples: Samples, how: Literal["none", "channel", "image"] | Normalisation) -> Samples:
    """Give samples whose pixels read as normalised; the stored numbers stay as they are.

    `channel` is (x − mean) / std for each channel, with mean and std of these samples, or with those of the
    `Normalisation` that is passed: test and public images get the constants of the training images. `image` gives
    every image Σ_j x_j = 0 and ‖x‖₂ = 1 over all its channels and pixels (InstaHide §2).
    What patches were cut from is normalised likewise: by the same constants, or by image.
    Deviation: an image that is all of one value has no direction and becomes zero; so does a channel that is all of one
    value, such as a feature that no image has, whose standard deviation is then taken to be 1.
    """
    if samples.normalisation.kind != "none":
        raise BadInput(f"these images are normalised by {samples.normalisation.kind} already; start from raw ones.")
    wanted = Normalisation(how) if isinstance(how, str) else how
    match wanted.kind:
        case "none":
            return samples
        case "image":
            done = _by_image(samples)
        case "channel":
            done = _by_channel(samples, wanted if wanted.mean else _channel_constants(samples))
    if done.cut_from is None:
        return done
    larger = normalise(done.cut_from.images, done.normalisation)
    return replace(done, cut_from=replace(done.cut_from, images=larger))


def _by_channel(samples: Samples, constants: Normalisation) -> Samples:
    """Apply (x − mean) / std for each channel."""
    channels = samples.shape[0]
    if len(constants.mean) != channels or len(constants.std) != channels:
        raise BadInput(
            f"constants for {len(constants.mean)} channels do not fit images with {channels}; load them with the same"
            " number of channels."
        )
    if not all(0 < std < float("inf") for std in constants.std):
        raise BadInput("standard deviations must be positive and finite; use the constants of the training images.")
    mean, std = torch.tensor([constants.mean, constants.std], dtype=torch.float64)
    scale = (samples.scale.double() / std).float()
    shift = ((samples.shift.double() - mean) / std).float()
    return replace(samples, scale=scale, shift=shift, normalisation=constants)


def _channel_constants(samples: Samples) -> Normalisation:
    """Estimate the mean and the (biased) standard deviation of each channel."""
    total, squares = _raw_sums(samples)
    count = len(samples) * samples.shape[1] * samples.shape[2]
    mean, mean_square = total.sum(0) / count, squares.sum(0) / count
    std = _without_rounding(mean_square - mean.square(), mean_square).sqrt()
    if not std.any():
        raise BadInput("every image has the same value in every pixel; check the images, or do not normalise them.")
    std[std == 0] = 1.0
    return Normalisation("channel", tuple(mean.tolist()), tuple(std.tolist()))


def _by_image(samples: Samples) -> Samples:
    """Apply (x − mean(x)) / ‖x − mean(x)‖₂ to each image."""
    total, squares = (sums.sum(1, keepdim=True) for sums in _raw_sums(samples))
    channels, height, width = samples.shape
    mean = total / (channels * height * width)
    norm = _without_rounding(squares - mean * total, squares).sqrt()
    factor = torch.where(norm > 0, 1 / norm, 0.0)
    scale = (samples.scale.double() * factor).float()
    shift = ((samples.shift.double() - mean) * factor).float()
    return replace(samples, scale=scale, shift=shift, normalisation=Normalisation("image"))


def _without_rounding(variance: Float64[Tensor, "..."], mean_square: Float64[Tensor, "..."]) -> Float64[Tensor, "..."]:
    return torch.where(variance > _ROUNDING * mean_square, variance, 0.0)


def _raw_sums(samples: Samples) -> tuple[Float64[Tensor, "n c"], Float64[Tensor, "n c"]]:
    """Sum raw pixels and their squares, from those of the stored numbers: Σ(as + b) and Σ(as + b)²."""
    total, squares = _stored_sums(samples.images)
    pixels = samples.shape[1] * samples.shape[2]
    for rows in pieces(len(samples)):
        scale, shift = (part[rows if len(part) > 1 else slice(1)].double() for part in (samples.scale, samples.shift))
        squared = scale.square() * squares[rows] + 2 * scale * shift * total[rows] + pixels * shift.square()
        squares[rows] = squared
        total[rows] = scale * total[rows] + pixels * shift
    return total, squares


def _stored_sums(images: Shaped[Tensor, "n c h w"]) -> tuple[Float64[Tensor, "n c"], Float64[Tensor, "n c"]]:
    """Sum the stored numbers and their squares for each image and channel, exactly for bytes.

    Bytes are added in float32, 256 at a time, where every partial sum is a whole number below 2^24; the rest of each
    run is padded with zeros. That is an order of magnitude faster than integer sums.
    """
    count, channels, height, width = images.shape
    runs = -(-height * width // _EXACT)
    step = max(1, _WORKING_SET // (channels * runs * _EXACT))
    dtype = torch.float32 if images.dtype == torch.uint8 else torch.float64
    buffer = torch.zeros(min(step, count), channels, runs * _EXACT, dtype=dtype)
    total, squares = (torch.from_numpy(allocate((count, channels), np.float64)) for _ in range(2))
    for start in range(0, count, step):
        rows = slice(start, min(start + step, count))
        part = buffer[: rows.stop - rows.start]
        part[:, :, : height * width] = images[rows].flatten(2)
        run = part.view(len(part), channels, runs, _EXACT)
        total[rows] = run.sum(-1).double().sum(-1)
        squares[rows] = run.square_().sum(-1).double().sum(-1)
    return total, squares
