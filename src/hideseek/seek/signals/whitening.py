"""Making images white: every direction of colour and frequency equally strong, so that inner products tell most."""

import math
from dataclasses import dataclass
from typing import Self

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.records import Samples

CHUNK = 1024  # images whose spectrum is taken together
_TINY = 1e-30  # where all images are blank
_LEAST = 1e-10  # of the largest variance: below is rounding


def cosines(size: int) -> Float[Tensor, "size size"]:
    """Give the matrix of the orthonormal cosine transform (DCT-II).

    >>> (cosines(8) @ cosines(8).T - torch.eye(8)).abs().max().item() < 1e-6
    True
    """
    places = torch.arange(size, dtype=torch.float64)
    matrix = torch.cos(math.pi / size * places[:, None] * (places + 0.5)) * math.sqrt(2 / size)
    matrix[0] /= math.sqrt(2)
    return matrix.float()


@dataclass(frozen=True)
class Whitening:
    """Divides each frequency of each principal colour by its deviation, and goes back to places.

    Natural images are nearly stationary, so cosines nearly diagonalise their covariance: at 32×32 this tells more than
    the full covariance of 10,000 images does, whose small eigenvalues are noise, and it costs next to nothing. Back in
    places, what is smooth in an image stays small, so energy can be told place by place.
    """

    colours: Float[Tensor, "c c"]
    deviations: Float[Tensor, "c h w"]
    rows: Float[Tensor, "h h"]
    columns: Float[Tensor, "w w"]

    @classmethod
    def of(cls, images: Samples) -> Self:
        """Estimate colours and spectrum from images."""
        channels, height, width = images.shape
        device = images.images.device
        chunks = [slice(start, start + CHUNK) for start in range(0, len(images), CHUNK)]
        products = torch.zeros(channels, channels, device=device, dtype=torch.float64)
        for rows in chunks:
            pixels = images.pixels(rows).movedim(1, 0).flatten(1)
            products += (pixels @ pixels.T).double()
        colours = torch.linalg.eigh(products)[1].float()
        flat = torch.ones(channels, height, width, device=device)
        plain = cls(colours, flat, cosines(height).to(device), cosines(width).to(device))
        power = torch.stack([plain.spectrum(images.pixels(rows)).square().sum(0).double() for rows in chunks]).sum(0)
        power = _of_many_images(power / len(images), len(images) * height * width)
        power = power.clamp_min(_LEAST * power.max() + _TINY)
        return cls(colours, power.sqrt().float(), plain.rows, plain.columns)

    def spectrum(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
        """Give the frequencies of the principal colours."""
        coloured = (self.colours.T @ images.flatten(2)).view_as(images)  # einsum would leave it out of order
        return self.rows @ coloured @ self.columns.T

    def images(self, spectra: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
        """Give the images whose frequencies these are: the inverse of `spectrum`."""
        placed = self.rows.T @ spectra @ self.columns
        return (self.colours @ placed.flatten(2)).view_as(placed)

    def waves(self) -> Float[Tensor, "pixels pixels"]:
        """Give the frequencies of every pixel by itself: the waves are its columns, and orthonormal."""
        shape = self.deviations.shape
        return self.spectrum(torch.eye(shape.numel(), device=self.deviations.device).view(-1, *shape)).flatten(1)

    def __call__(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
        """Give white images."""
        return self.rows.T @ (self.spectrum(images) / self.deviations) @ self.columns

    def transposed(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
        """Apply the transpose: its products with images are those of `images` with white ones."""
        spectrum = (self.rows @ images @ self.columns.T) / self.deviations
        return self.rows.T @ (self.colours @ spectrum.flatten(2)).view_as(images) @ self.columns


def _of_many_images(power: Float[Tensor, "c h w"], numbers: int) -> Float[Tensor, "c h w"]:
    """Draw the variances of colours towards their mean where these are features, which are as many as images or more.

    Without, directions that no row happens to have are divided by nothing, and tell most. Of c colours and n numbers of
    each, the share that is drawn is c / (c + n), nothing where there are three.
    """
    channels, height, width = power.shape
    if height * width > 1:
        return power
    share = channels / (channels + numbers)
    return (1 - share) * power + share * power.mean()


def squares(images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
    """Give the squares of pixels, which a mask of signs does not change."""
    return images.square()
