"""Releases whose masks come from NumPy's usual generator, as a careless program would make them."""

from dataclasses import replace

import numpy as np
import torch

from hideseek.records import EncodedRelease
from hideseek.records.mixing_secret import MixingSecret


def masked_by(
    release: EncodedRelease, secret: MixingSecret, seed: int, order: str = "chw"
) -> tuple[EncodedRelease, MixingSecret]:
    """The same rows under other masks: 2·randint(0, 2) − 1 of a generator with this seed, row after row."""
    count, (channels, height, width) = len(release.encoded), release.encoded.shape
    shape = (count, height, width, channels) if order == "hwc" else (count, channels, height, width)
    signs = 2 * np.random.RandomState(seed).randint(0, 2, shape) - 1
    if order == "hwc":
        signs = signs.transpose(0, 3, 1, 2)
    bits = np.packbits((signs < 0).reshape(count, channels, -1), axis=-1, bitorder="little")
    images = release.encoded.images * secret.signs() * torch.from_numpy(signs.copy())
    encoded = replace(release.encoded, images=images.float())
    return replace(release, encoded=encoded), replace(secret, mask=torch.from_numpy(bits))
