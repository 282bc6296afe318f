"""What images are like, by those of the attacker's own: a Gaussian of the same mean and covariance.

In its principal axes, scaled to a deviation of 1, every image is x = μ + Σ_k z_k √λ_k u_k with z of N(0, I), so that
½ ‖z‖² is the logarithm of its probability but for a constant. It is descended by z: axes along which images vary
little, such as single pixels, move little, and few steps of a quasi-Newton method reach the minimum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.records import Samples, Task
from hideseek.seek.work import DOUBLE, eigendecomposition

FEWEST = 50  # images that have a covariance


@dataclass(frozen=True)
class OwnImages:
    """How much is expected of images by the attacker's own."""

    weight: float = 1e-7
    """Of ½ ‖z‖², beside distances of gradients, where those are exact; noise on them adds to it."""
    least: float = 1e-4
    """Of the largest variance: axes of less are left out."""
    most: int = 10_000
    """Images that are used."""

    def basis(self, own: Samples) -> ImageBasis:
        """Take the mean and covariance of images."""
        return principal_axes(own.pixels(slice(0, self.most)).flatten(1).double(), self.least, own.shape)

    def work(self, task: Task) -> float:
        """Count the covariance, and its axes."""
        images = min(self.most, max(task.own, FEWEST))
        side = min(images, task.pixels)
        return DOUBLE * float(side) * images * task.pixels + eigendecomposition(side)

    def weight_under(self, noise: float, sent: Float[Tensor, " entries"], *, scaled: bool) -> float:
        """Give the weight where Gaussian noise is on a gradient, by which the minimum is the likeliest image.

        With ĝ = g + N(0, σ²), −log p is ‖ĝ‖² D / (2σ²) for D = ‖g − ĝ‖² / ‖ĝ‖², and ‖g‖ ‖ĝ‖ D / σ² for D = 1 − cos
        where ‖g‖ is given, as it is by ‖ĝ‖² − entries · σ².
        """
        square, variance = float(sent.double().square().sum()), noise**2
        if not noise or not square:
            return self.weight
        if not scaled:
            return self.weight + 2 * variance / square
        length = math.sqrt(max(square - sent.numel() * variance, 0.01 * square))
        return self.weight + variance / (length * math.sqrt(square))


@dataclass(frozen=True)
class ImageBasis:
    """A mean image, and principal axes times their deviations."""

    mean: Float[Tensor, " pixels"]
    axes: Float[Tensor, "axes pixels"]
    shape: tuple[int, int, int]

    def images(self, places: Float[Tensor, "n axes"]) -> Float[Tensor, "n c h w"]:
        """Give μ + Σ_k z_k √λ_k u_k."""
        return (self.mean.to(places) + places @ self.axes.to(places)).view(len(places), *self.shape)


def principal_axes(images: Float[Tensor, "n pixels"], least: float, shape: tuple[int, int, int]) -> ImageBasis:
    """Give the axes of variances of at least a share of the largest, by the smaller of both Gram matrices."""
    mean = images.mean(0)
    centred = (images - mean) / len(images) ** 0.5
    if len(images) < centred.shape[1]:
        variances, vectors = torch.linalg.eigh(centred @ centred.T)
        kept = variances > least * variances[-1]
        return ImageBasis(mean, vectors[:, kept].T @ centred, shape)
    variances, vectors = torch.linalg.eigh(centred.T @ centred)
    kept = variances > least * variances[-1]
    return ImageBasis(mean, (vectors[:, kept] * variances[kept].sqrt()).T.contiguous(), shape)
