"""What images are like on the whole, frequency by frequency: to tell an image from noise that is white."""

import math
from dataclasses import dataclass
from typing import Self

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.records import EncodedRelease, Samples
from hideseek.seek.signals.whitening import Whitening, cosines

SAMPLE = 2000  # images that are looked at
GREY = 0.9  # of the energy of photographs is common to all colours
BINS = 64  # of a histogram of pixels
WHITE = 0.01  # of the energy of images: what is made white has frequencies that images have hardly anything of
TINY = 1e-30  # where rows are blank


@dataclass(frozen=True)
class ImageSpectrum:
    """The energy of images in every frequency of every principal colour, their mean, and the variance of a pixel."""

    basis: Whitening
    mean: Float[Tensor, "c h w"]
    variance: Float[Tensor, "c h w"]

    @classmethod
    def of(cls, images: Samples) -> Self:
        """Measure images."""
        pixels = images.pixels(slice(0, SAMPLE))
        variance = pixels.var(0, correction=0).mean((1, 2), keepdim=True).clamp_min(1e-6)
        basis = Whitening.of(Samples(pixels, pixels.new_empty(len(pixels), 0)))
        return cls(basis, pixels.mean(0), variance.expand(pixels.shape[1:]))

    @classmethod
    def of_mixtures(cls, mixtures: Float[Tensor, "m c h w"]) -> Self:
        """Measure sums of images, each but for a sign and divided by √Σλ²: they have the second moments of images."""
        variance = mixtures.square().mean((0, 2, 3)).clamp_min(1e-6)[:, None, None]
        basis = Whitening.of(Samples(mixtures, mixtures.new_empty(len(mixtures), 0)))
        return cls(basis, torch.zeros(mixtures.shape[1:]), variance.expand(mixtures.shape[1:]))

    @classmethod
    def usual(cls, shape: tuple[int, int, int], energy: float) -> Self:
        """Give that of photographs in general: energy falls as 1/f², and nine tenths of it are grey."""
        channels, height, width = shape
        down, across = torch.arange(height) / height, torch.arange(width) / width
        falling = 1 / (down[:, None].square() + across.square() + 1 / (height * width))
        shares = torch.full((channels,), (1 - GREY) / max(1, channels - 1))
        shares[0] = GREY if channels > 1 else 1.0
        power = shares[:, None, None] * falling / falling.mean() * energy * channels
        basis = Whitening(cosines(channels).T, (power + TINY).sqrt(), cosines(height), cosines(width))
        return cls(basis, torch.zeros(shape), torch.full(shape, energy))

    def without_noise(self, images: Float[Tensor, "n c h w"], noise: float) -> Float[Tensor, "n c h w"]:
        """Give the best linear answer to white noise of this variance (Wiener): each frequency by S/(S + noise)."""
        power = self.basis.deviations.square()
        return self.basis.images(self.basis.spectrum(images) * (power / (power + noise)))

    def white(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
        """Divide frequencies by what images have of them, and some white noise; in places, and principal colours."""
        return self.basis.rows.T @ (self.basis.spectrum(images) / self._deviations()) @ self.basis.columns

    def coloured(self, white: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
        """Give the images that are white so: the inverse of `white`."""
        return self.basis.images((self.basis.rows @ white @ self.basis.columns.T) * self._deviations())

    def _deviations(self) -> Float[Tensor, "c h w"]:
        power = self.basis.deviations.square()
        return (power + WHITE * power.mean()).sqrt()


def likelier_sign(images: Float[Tensor, "n c h w"], known: Float[Tensor, "m c h w"]) -> float:
    """Tell by histograms of pixels whether images or their negatives are more like known ones: 1 or −1.

    Photographs are not symmetric: darkness ends at black, and where that is, normalisation has not moved for each
    image alone; and there is more of it than of white.
    """
    low, high = float(known.amin()), float(known.amax())
    width = max(high - low, 1e-9)
    counts = torch.histc(known, BINS, low, high) + 1.0
    logs = (counts / counts.sum()).log()

    def score(values: Tensor) -> float:
        inside = ((values - low) / width * BINS).nan_to_num(0.0).clamp(0, BINS - 1).long()
        beyond = torch.maximum(low - values, values - high).clamp_min(0) / width
        found = float((logs[inside] - 10 * beyond).mean())
        return found if math.isfinite(found) else 0.0

    return 1.0 if score(images) >= score(-images) else -1.0


def known_images(release: EncodedRelease) -> Samples | None:
    """Give images that the attacker has and that are as large as rows, or cut to that: public ones, or his own."""
    channels, height, width = release.encoded.shape
    for samples in (release.public, release.own):
        if samples is None or len(samples) < 2 or samples.shape[0] != channels:
            continue
        if samples.normalisation.kind != release.encoded.normalisation.kind:
            continue
        if samples.shape[1] >= height and samples.shape[2] >= width:
            some = samples.take(slice(0, SAMPLE))
            pixels = some.pixels()[..., :height, :width].contiguous()
            return Samples(pixels, pixels.new_empty(len(pixels), 0), normalisation=samples.normalisation)
    return None


def spectrum_for(release: EncodedRelease) -> tuple[ImageSpectrum, Samples | None]:
    """Give the spectrum of images that the attacker has, and these; or the usual one, of the energy of rows.

    Rows have about Σλ² of the energy of an image; 1/k is the least that can be.
    """
    known = known_images(release)
    if known is not None:
        return ImageSpectrum.of(known), known
    energy = float(release.encoded.pixels(slice(0, SAMPLE)).square().mean())
    per_row = sum(release.scheme.images_per_row)
    return ImageSpectrum.usual(release.encoded.shape, energy * max(1.0, math.sqrt(per_row))), None
