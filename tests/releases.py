"""Releases of photographs that are always there, for attacks to be tried on."""

from functools import cache

import numpy as np
import torch

from hideseek.data import load, normalise
from hideseek.records import Samples


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


def noise_like(samples: Samples, seed: int = 0) -> Samples:
    """Noise in the place of encodings, with the same labels."""
    values = np.random.default_rng(seed).standard_normal(samples.images.shape, dtype=np.float32)
    return Samples(torch.from_numpy(values), samples.labels, normalisation=samples.normalisation)
