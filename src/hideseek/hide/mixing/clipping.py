"""How much of every image may be mixed, so that none is longer than a bound."""

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.records import Samples

CHUNK = 1024  # images whose pixels are looked at together
ROUNDING = 1e-6  # by which factors are lowered, so that sums in float32 keep to the bound


def image_factors(samples: Samples, clip: float) -> Float[Tensor, " n"]:
    """Give min(1, C / ‖x_i‖₂) for every image: times that, none is longer than C.

    A factor of an image is a factor of its weights, so that no copy of the images is made.
    """
    lengths = [
        samples.pixels(slice(i, i + CHUNK)).flatten(1).double().norm(dim=1) for i in range(0, len(samples), CHUNK)
    ]
    return _factors(torch.cat(lengths).cpu(), clip)


def label_factors(samples: Samples, clip: float) -> Float[Tensor, " n"]:
    """Give min(1, C / ‖y_i‖₂) for every label."""
    return _factors(samples.labels.double().norm(dim=1).cpu(), clip)


def _factors(lengths: Float[Tensor, " n"], clip: float) -> Float[Tensor, " n"]:
    return ((1 - ROUNDING) * (clip / lengths.clamp_min(torch.finfo(torch.float32).tiny)).clamp_max(1.0)).float()
