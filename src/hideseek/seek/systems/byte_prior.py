"""What neighbouring pixels of pictures are like, in bytes: differences are small, and seldom large in one colour alone.

Differences of neighbours, and pixels about their mean, follow multivariate Cauchy laws, whose density is
(1 + dᵀS⁻¹d)^(−(c+1)/2) for c colours: most differences are small, edges are not rare, and the scatter S knows
that colours change together. Each colour by itself, and each difference of two colours, is Cauchy again.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from hideseek.data import load
from hideseek.records import Samples

IMAGES = 1000  # that a prior is learnt from
KEPT = 0.3  # of a prior, when it is adapted to an image
STEPS = 30  # of the fit
LEAST = 0.5  # of a byte: what varies less is all of one value
GREY = np.array([0.299, 0.587, 0.114])  # of red, green and blue (Rec. 601)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class BytePrior:
    """Scatter matrices, colours × colours, and a mean, in bytes."""

    differences: Array
    """Of pixels next to each other."""
    mean: Array
    pixels: Array
    """Of a pixel about the mean."""

    def between_colours(self) -> Array:
        """Give the scale of b_c − b_c', less its mean, for each two colours."""
        own = np.diag(self.pixels)
        return np.sqrt(np.maximum(own[:, None] + own[None] - 2 * self.pixels, LEAST**2))


def learn_prior(stored: NDArray[np.uint8] | NDArray[np.float32]) -> BytePrior:
    """Learn from images, n × c × h × w."""
    images = stored[:IMAGES].astype(np.float64)
    channels = images.shape[1]

    def vectors(values: Array) -> Array:
        every: Array = np.moveaxis(values, 1, -1).reshape(-1, channels)
        return every[:: max(1, len(every) // 200_000)]

    steps = [vectors(np.diff(images, axis=axis)) for axis in (2, 3)]
    pixels = vectors(images)
    mean = np.median(pixels, axis=0)
    return BytePrior(_scatter(np.concatenate(steps)), mean, _scatter(pixels - mean))


def adapted(prior: BytePrior, image: NDArray[np.float32]) -> BytePrior:
    """Adapt a prior to one image, c × h × w, that is known in parts: pictures differ in how rough they are."""
    own = learn_prior(image[None])
    return BytePrior(
        *(KEPT * getattr(prior, part) + (1 - KEPT) * getattr(own, part) for part in ("differences", "mean", "pixels"))
    )


def prior_of(samples: Samples | None, channels: int) -> BytePrior:
    """Learn from images that an attacker has, if they are bytes, else from photographs that come with the library."""
    if samples is not None and samples.images.dtype.itemsize == 1 and samples.shape[0] == channels:
        spread = slice(0, None, max(1, len(samples) // IMAGES))
        return learn_prior(samples.images[spread].numpy())
    return of_photographs(channels)


@cache
def of_photographs(channels: int) -> BytePrior:
    """Learn from embedded photographs; channels that are no red, green and blue are taken for as many greys."""
    photos = load("photos").images[::4].numpy()
    if channels == 3:
        return learn_prior(photos)
    grey = np.rint(np.einsum("nchw,c->nhw", photos, GREY))[:, None].astype(np.uint8)
    alone = learn_prior(grey)
    every = np.eye(channels)
    return BytePrior(every * alone.differences, np.repeat(alone.mean, channels), every * alone.pixels)


def _scatter(vectors: Array) -> Array:
    """Fit the scatter of a Cauchy law about zero: S = (c+1)/n Σ d dᵀ / (1 + dᵀS⁻¹d), iterated."""
    count, channels = vectors.shape
    least = LEAST**2 * np.eye(channels)
    scatter = np.diag(np.median(np.abs(vectors), axis=0) ** 2) + least
    for _ in range(STEPS):
        lengths = np.einsum("nc,cd,nd->n", vectors, np.linalg.inv(scatter), vectors)
        scatter = (channels + 1) / count * (vectors.T @ (vectors / (1 + lengths)[:, None])) + 1e-3 * least
    return scatter + LEAST**2 * np.eye(channels)
