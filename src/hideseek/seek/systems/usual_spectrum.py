"""What images are like, frequency by frequency: of images that the attacker has, or of photographs in general."""

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.records import EncodedRelease
from hideseek.seek.signals.whitening import Whitening
from hideseek.seek.systems import image_spectrum
from hideseek.seek.systems.image_spectrum import SAMPLE, ImageSpectrum, known_images


def spectrum_of_images(release: EncodedRelease) -> Whitening:
    """Give the deviation of every frequency of every principal colour.

    Without images at hand, energy falls as 1/f², and nine tenths of it are grey; its sum is that of the rows, which
    have about 1/k of the energy of an image where k are mixed.
    """
    known = known_images(release)
    if known is not None and float(known.images.square().mean()) > 0:
        return Whitening.of(known)
    energy = float(release.encoded.pixels(slice(0, SAMPLE)).square().mean())
    return ImageSpectrum.usual(release.encoded.shape, energy * sum(release.scheme.images_per_row)).basis


def likelier_sign(images: Float[Tensor, "n c h w"], release: EncodedRelease) -> float:
    """Tell whether images or their negatives have pixels more like those of images at hand: 1 or −1.

    Without any, the range of pixels tells, where their normalisation is known.
    """
    known = known_images(release)
    return _inside_range(images, release) if known is None else image_spectrum.likelier_sign(images, known.images)


def _inside_range(images: Float[Tensor, "n c h w"], release: EncodedRelease) -> float:
    """Tell whether images or their negatives are less beyond black and white; 1 where these are not known."""
    constants = release.encoded.normalisation
    if constants.kind != "channel" or len(constants.mean) != images.shape[1]:
        return 1.0
    mean, std = (torch.tensor(each).view(-1, 1, 1) for each in (constants.mean, constants.std))
    low, high = -mean / std, (1 - mean) / std

    def beyond(values: Tensor) -> float:
        return float((torch.maximum(low - values, values - high).clamp_min(0)).sum())

    return 1.0 if beyond(images) <= beyond(-images) else -1.0
