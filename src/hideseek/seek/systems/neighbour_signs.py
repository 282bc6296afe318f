"""Signs of rows from neighbours: what is unknown in a row is smooth, so that sure places tell the others."""

from dataclasses import dataclass
from typing import Self

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from hideseek.seek.systems.image_spectrum import ImageSpectrum

REACH = 2  # places on either side that a pixel is predicted from
PLACES = 6  # where the covariance of neighbours is looked at, along each side
NOISE = 0.8  # of the variance of images: how far neighbours are in doubt while half of the signs are
BEYOND = 0.1  # of the variance of images is never predicted
TURNS = 4  # of predicting, and choosing signs, for the same images


@dataclass(frozen=True)
class Predictor:
    """The best linear answer to what a pixel is, told from noisy neighbours in all colours, not from itself."""

    filters: Float[Tensor, "c c w w"]
    missed: Float[Tensor, " c"]
    """The variance that is left, of the variance of images in that colour."""

    @classmethod
    def of(cls, spectrum: ImageSpectrum) -> Self:
        """Derive it from the covariance of pixels that a spectrum gives: f = (K + noise)⁻¹ k, without the pixel."""
        covariance, (channels, height, width) = _covariance(spectrum), _window(spectrum)
        level = covariance.diagonal().mean().clamp_min(1e-12)
        filters = covariance.new_zeros(channels, len(covariance))
        missed = covariance.new_ones(channels)
        for channel in range(channels):
            centre = (channel * height + height // 2) * width + width // 2
            others = torch.arange(len(covariance)) != centre
            among = covariance[others][:, others]
            among.diagonal().add_(NOISE * level)
            with_it = covariance[others, centre]
            filters[channel, others] = torch.linalg.solve(among, with_it)
            missed[channel] -= (with_it @ filters[channel, others]) / covariance[centre, centre].clamp_min(1e-12)
        return cls(filters.view(channels, channels, height, width).float(), missed.clamp_min(0.0).float())

    def __call__(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
        """Predict every pixel; beyond the border is what is at the border."""
        down, across = (size // 2 for size in self.filters.shape[2:])
        return functional.conv2d(functional.pad(images, (across, across, down, down), mode="replicate"), self.filters)


def soft_rows(
    magnitudes: Float[Tensor, "m c h w"],
    mean: Float[Tensor, "m c h w"],
    doubt: Float[Tensor, "m 1 1 1"],
    variance: Float[Tensor, "c h w"],
    predictor: Predictor,
) -> Float[Tensor, "m c h w"]:
    """Give the expected rows E s, of which the mean m is known, and an image u of this variance times doubt is not.

    E s = x̃ tanh(x̃ (m + û) / v): û is predicted from E s − m at neighbours, and leaves less variance v than u has.
    """
    left = (predictor.missed + BEYOND).clamp_max(1.0)[:, None, None] * variance
    signed = magnitudes * torch.tanh(magnitudes * mean / (doubt * variance))
    for _ in range(TURNS):
        signed = magnitudes * torch.tanh(magnitudes * (mean + predictor(signed - mean)) / (doubt * left))
    return signed


def _window(spectrum: ImageSpectrum) -> tuple[int, int, int]:
    """Give the colours and the sides, odd, of the places that tell a pixel; images may be smaller than that."""
    channels, height, width = spectrum.mean.shape
    tall, wide = (2 * min(REACH, (size - 1) // 2) + 1 for size in (height, width))
    return channels, tall, wide


def _covariance(spectrum: ImageSpectrum) -> Float[Tensor, "window window"]:
    """Give the covariance of the pixels of a window, averaged over places."""
    (_, tall, wide), (_, height, width), basis = _window(spectrum), spectrum.mean.shape, spectrum.basis
    power, colours = basis.deviations.double().square(), basis.colours.double()
    total = torch.zeros(1, dtype=torch.float64)
    tops, lefts = (
        sorted({round(float(at)) for at in torch.linspace(0, size - window, PLACES)})
        for size, window in ((height, tall), (width, wide))
    )
    for top in tops:
        rows = basis.rows.double()[:, top : top + tall]
        for left in lefts:
            columns = basis.columns.double()[:, left : left + wide]
            inner = torch.einsum("eab,ai,ak,bj,bl->eijkl", power, rows, rows, columns, columns)
            total = total + torch.einsum("ce,de,eijkl->cijdkl", colours, colours, inner)
    pixels = len(colours) * tall * wide
    return total.reshape(pixels, pixels) / (len(tops) * len(lefts))
