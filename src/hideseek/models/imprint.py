"""An imprint: layers that a server puts in front of a network, so that updates hold single images."""

import math
from collections.abc import Callable
from statistics import NormalDist

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hideseek.models.classifier import Shape

BINS = 1000
SMALL = 1e-3  # of an image's values, about: what the imprint adds to it


class Imprinted(nn.Module):
    """Give rest(x + V relu(W x + b)), whose first layer tells images apart by one number (Fowl et al. 2022).

    All rows of W are the mean of the pixels, and biases are minus its quantiles, so that bin j fires for the images
    above the j-th quantile. All columns of V are alike, so that an image's share is the same in all its bins: the
    difference of two neighbouring ones holds the images between two quantiles, mostly one or none.
    Deviation: the paper's block replaces the image; here the image passes through, so that the network works as before.
    """

    def __init__(self, rest: nn.Module, shape: Shape, quantiles: Float[Tensor, " bins"]) -> None:
        super().__init__()
        pixels, bins = math.prod(shape), len(quantiles)
        self.shape, self.rest = shape, rest
        self.measure, self.back = nn.Linear(pixels, bins), nn.Linear(bins, pixels, bias=False)
        signs = torch.linspace(0, 40, pixels).sin().sign()
        with torch.no_grad():
            self.measure.weight.fill_(1 / pixels)
            self.measure.bias.copy_(-quantiles)
            self.back.weight.copy_((SMALL / bins * signs)[:, None].expand(-1, bins))

    def forward(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n classes"]:
        """Give the logits of each class."""
        flat = images.flatten(1)
        changed = flat + self.back(self.measure(flat).relu())
        logits: Tensor = self.rest(changed.view(-1, *self.shape))
        return logits


def imprinted(
    build: Callable[[], nn.Module], shape: Shape, middle: float, spread: float, bins: int = BINS
) -> Imprinted:
    """Put an imprint in front of a network, for images whose mean pixel is about N(middle, spread²)."""
    normal = NormalDist(middle, spread)
    quantiles = torch.tensor([normal.inv_cdf((number + 0.5) / bins) for number in range(bins)])
    return Imprinted(build(), shape, quantiles)
