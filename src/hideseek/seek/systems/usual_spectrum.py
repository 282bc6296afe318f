"""What images are like, frequency by frequency: of images that the attacker has, or of photographs in general."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.records import EncodedRelease, Samples
from hideseek.seek.signals.whitening import Whitening, cosines

SAMPLE = 2000  # images that are looked at
GREY = 0.9  # of the energy of photographs is common to all colours
BINS = 64


def images_at_hand(release: EncodedRelease) -> Samples | None:
    """Give images that the attacker has, at the size of rows: public ones, or his own."""
    channels, height, width = release.encoded.shape
    for samples in (release.public, release.own):
        if samples is None or len(samples) < 2 or samples.normalisation.kind != release.encoded.normalisation.kind:
            continue
        if samples.shape[0] == channels and samples.shape[1] >= height and samples.shape[2] >= width:
            pixels = samples.pixels(slice(0, SAMPLE))[..., :height, :width].contiguous()
            return Samples(pixels, pixels.new_empty(len(pixels), 0))
    return None


def spectrum_of_images(release: EncodedRelease) -> Whitening:
    """Give the deviation of every frequency of every principal colour.

    Without images at hand, energy falls as 1/f², and nine tenths of it are grey; its sum is that of the rows, which
    have about 1/k of the energy of an image where k are mixed.
    """
    known = images_at_hand(release)
    if known is not None and float(known.images.square().mean()) > 0:
        return Whitening.of(known)
    channels, height, width = release.encoded.shape
    energy = float(release.encoded.pixels(slice(0, SAMPLE)).square().mean()) * sum(release.scheme.images_per_row)
    down, across = torch.arange(height) / height, torch.arange(width) / width
    falling = 1 / (down[:, None].square() + across.square() + 1 / (height * width))
    shares = torch.full((channels,), (1 - GREY) / max(1, channels - 1))
    shares[0] = GREY if channels > 1 else 1.0
    power = shares[:, None, None] * falling / falling.mean() * energy * channels
    return Whitening(cosines(channels).T, (power + 1e-30).sqrt(), cosines(height), cosines(width))


def likelier_sign(images: Float[Tensor, "n c h w"], release: EncodedRelease) -> float:
    """Tell whether images or their negatives have pixels more like those of images at hand: 1 or −1.

    Without any, the range of pixels tells, where their normalisation is known. Photographs are not symmetric: darkness
    ends at black, and there is more of it than of white.
    """
    known = images_at_hand(release)
    if known is None:
        return _inside_range(images, release)
    low, high = float(known.images.min()), float(known.images.max())
    width = max(high - low, 1e-9)
    counts = torch.histc(known.images, BINS, low, high) + 1.0
    logs = (counts / counts.sum()).log()

    def score(values: Tensor) -> float:
        inside = ((values - low) / width * BINS).nan_to_num(0.0).clamp(0, BINS - 1).long()
        beyond = torch.maximum(low - values, values - high).clamp_min(0) / width
        found = float((logs[inside] - 10 * beyond).mean())
        return found if math.isfinite(found) else 0.0

    return 1.0 if score(images) >= score(-images) else -1.0


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
