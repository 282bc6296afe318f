"""Whole images of small ones, by what the attacker's own images say of the rest."""

from jaxtyping import Float
from torch import Tensor, linalg
from torch.nn import functional

from hideseek.records import Samples

MOST = 4000  # own images that are used
RIDGE = 1e-3  # of the mean variance of a small pixel

Images = Float[Tensor, "n c h w"]


def sharpened(images: Images, own: Samples, times: int) -> Images:
    """Give the linear estimate of images from their means over squares of `times`² pixels (Wiener filter).

    x̂ = μ + (s − μ_s) (S'S + ridge)⁻¹ S'X, with X the attacker's own images and S their means, both centred.
    """
    whole = own.pixels(slice(0, MOST)).to(images)
    small = functional.avg_pool2d(whole, times, ceil_mode=True).flatten(1)
    centre, mean = small.mean(0), whole.flatten(1).mean(0)
    products = (small - centre).T @ (small - centre)
    products.diagonal().add_(RIDGE * products.diagonal().mean().clamp_min(1e-12))
    weights: Tensor = linalg.solve(products, (small - centre).T @ (whole.flatten(1) - mean))
    found = functional.avg_pool2d(images, times, ceil_mode=True).flatten(1)
    guess: Tensor = mean + (found - centre) @ weights
    return guess.view(images.shape)
