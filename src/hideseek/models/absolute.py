"""Networks that look at |x|: what they learn does not depend on a mask of signs."""

import math
from itertools import product

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hideseek.models.classifier import Classifier, Shape
from hideseek.models.resnet import resnet, small_stem
from hideseek.models.small_resnet import small_resnet

FLAT = 1e-12  # added to the variance that an image is divided by: one of a single colour has none


class Absolute(nn.Module):
    """Take the absolute value of every pixel.

    InstaHide's mask is a coin flip for each pixel, so |σ ∘ x| = |x| holds all that an encoding tells (footnote 2): a
    network need not learn that signs mean nothing. The step helps an attacker too: every published attack on InstaHide
    begins with it.
    """

    def forward(self, images: Tensor) -> Tensor:
        """Give |x|."""
        return images.abs()


class Standardised(nn.Module):
    """Take the absolute values of every image, less their mean, over their standard deviation.

    The weights of a row sum to 1 and their squares to less, so a mixture is shorter than an image. A network that was
    trained on mixtures and is asked about an image would meet activations that it has never seen; so it would for
    images of less contrast.
    """

    def forward(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
        """Give (|x| − m) / s, with m and s of each image."""
        values = images.abs()
        values = values - values.mean((1, 2, 3), keepdim=True)
        return values / (values.square().mean((1, 2, 3), keepdim=True) + FLAT).sqrt()


def small_resnet_absolute(shape: Shape, classes: int) -> Classifier:
    """Build the small ResNet on absolute values, for what was hidden under a mask of signs."""
    network = small_resnet(shape, classes)
    return Classifier(nn.Sequential(Absolute(), network.features), network.head)


def small_resnet_masked(shape: Shape, classes: int) -> Classifier:
    """Build the small ResNet that learns most from what was hidden under a mask of signs: 4.9 million multiply-adds.

    It standardises |x|, and its first convolution begins as cosines in place of noise. It is narrower than
    `small_resnet_absolute` in the end, 88 channels, so that a step of it by Muon costs no more than one of that by SGD.
    """
    stem = small_stem(shape[0], 16, 2)
    network = resnet(stem, 16, [(16, 1, 1), (48, 1, 2), (88, 1, 2)], classes)
    begin = cosines(shape[0], 3, 8)
    first = next(stem.parameters())
    first.data = torch.cat([begin, -begin])
    return Classifier(nn.Sequential(Standardised(), network.features), network.head)


def cosines(channels: int, side: int, count: int) -> Float[Tensor, "count channels side side"]:
    """Give the smoothest cosines over channels, rows and columns, orthogonal and of length 1.

    They are nearly the principal components of patches of photographs, of |x| too, the largest first: what BatchNorm
    makes of them is whitened. Nothing need be estimated for that.
    """
    across, along = (_cosines(size) for size in (channels, side))
    order = sorted(
        product(range(channels), range(side), range(side)),
        key=lambda each: (sum(each), each[0] > 0 and each[1] + each[2] > 0),
    )
    return torch.stack([torch.einsum("c,u,v->cuv", across[a], along[u], along[v]) for a, u, v in order[:count]])


def _cosines(size: int) -> Float[Tensor, "size size"]:
    """Give the rows of the discrete cosine transform (DCT-II), each of length 1."""
    places = torch.arange(size) + 0.5
    rows = torch.stack([torch.cos(math.pi * u * places / size) for u in range(size)])
    return nn.functional.normalize(rows, dim=1)
