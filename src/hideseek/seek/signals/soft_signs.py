"""The signs of a masked row, softly: what is known of the row votes, and so do neighbours."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

STEPS = 5
_WIDTH = 3  # pixels on a side of the neighbourhood that tells what the rest is like
_KEPT = 0.7  # of the neighbourhood's mean: the rest is smooth, not flat
_SHARE = 0.5  # of the rest's energy is left, once its neighbourhood is known
_LEAST = 0.05  # of a row's energy that is not known

Pixels = Float[Tensor, "n c h w"]


def soft_signs(absolute: Pixels, known: Pixels, steps: int = STEPS) -> tuple[Pixels, Pixels]:
    """Give E[σ] for x = σ∘|x|, of which the part m is known, and the smooth part of the rest r = x − m.

    Mean field: σ̂ = tanh(|x| (m + r̂) / v), r̂ the mean of σ̂∘|x| − m around a pixel, in turn; v is the energy of the
    rest that its neighbours do not tell. Photographs are smooth, so a pixel's rest is much like that of its neighbours,
    whose signs may be plain.
    """
    energy, part = (each.square().mean((1, 2, 3), keepdim=True) for each in (absolute, known))
    left = _SHARE * torch.maximum(energy - part, _LEAST * energy) + torch.finfo(torch.float32).tiny
    rest = torch.zeros_like(known)
    signs = torch.tanh(absolute * known / (left / _SHARE))
    for _ in range(steps):
        rest = _KEPT * _neighbourhood(signs * absolute - known)
        signs = torch.tanh(absolute * (known + rest) / left)
    return signs, rest


def _neighbourhood(images: Pixels) -> Pixels:
    padded = functional.pad(images, (_WIDTH // 2,) * 4, mode="replicate")
    return functional.avg_pool2d(padded, _WIDTH, stride=1)
