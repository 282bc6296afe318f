"""Releases of photographs that are always there, for attacks to be tried on."""

from functools import cache

import numpy as np
import torch
from torch import Tensor

from hideseek.data import load, normalise
from hideseek.records import Samples
from hideseek.seek.systems.image_spectrum import ImageSpectrum
from hideseek.seek.systems.mixtures import Mixtures


@cache
def photos(kind: str, private: int = 60, public: int = 400) -> tuple[Samples, Samples]:
    """Private and public photographs, all different, normalised alike."""
    both = normalise(load("photos"), kind)  # type: ignore[arg-type]
    order = torch.from_numpy(np.random.default_rng(0).permutation(len(both)))
    return both.take(order[:private]), Samples(
        both.images[order[private : private + public]],
        torch.empty(public, 0),
        both.scale if len(both.scale) == 1 else both.scale[order[private : private + public]],
        both.shift if len(both.shift) == 1 else both.shift[order[private : private + public]],
        normalisation=both.normalisation,
    )


def unknown_rows() -> tuple[Tensor, Tensor, Mixtures, ImageSpectrum]:
    """Rows of two private photographs at 0.3 and an unknown one at 0.4, the part that is known, its mixtures."""
    private, public = photos("channel")
    images, others = private.take(slice(0, 10)).pixels(), public.pixels()[:300]
    chance = np.random.default_rng(0)
    sources = torch.from_numpy(np.stack([chance.permutation(10)[:2] for _ in range(300)]))
    mixtures = Mixtures(sources, torch.full((300, 2), 0.3), 10)
    known = mixtures.mixed(images.flatten(1)).view(-1, *images.shape[1:])
    return known + 0.4 * others, known, mixtures, ImageSpectrum.of(public)


def noise_like(samples: Samples, seed: int = 0) -> Samples:
    """Noise in the place of encodings, with the same labels."""
    values = np.random.default_rng(seed).standard_normal(samples.images.shape, dtype=np.float32)
    return Samples(torch.from_numpy(values), samples.labels, normalisation=samples.normalisation)
