"""What must not leave the house. `seek` and `learn` may not import this file."""

from abc import ABC
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int, Int8, UInt8
from torch import Tensor

from hideseek.records.samples import Samples


@dataclass(frozen=True)
class Secret(ABC):  # noqa: B024 (a kind of thing, told apart by its subclasses)
    """The truth behind a release, for those who may judge an attack by it."""


@dataclass(frozen=True)
class MixingSecret(Secret):
    """How every row of an EncodedRelease was made, and from what.

    Row r is σ_r ∘ (Σ_j λ_rj x_{s_rj} + noise_r): `sources` are the s_rj, `weights` the λ_rj with the private ones
    first, `mask` the σ_r, packed eight pixels of a channel to a byte (1 is −). The noise needs no field: it is what
    remains.
    """

    private: Samples
    sources: Int[Tensor, "m k_private"]
    public_sources: Int[Tensor, "m k_public"]
    weights: Float[Tensor, "m k"]
    mask: UInt8[Tensor, "m c bytes"] | None = None
    transforms: Float[Tensor, "m k 2 3"] | None = None  # where images were moved before they were mixed

    def signs(self) -> Int8[Tensor, "m c h w"]:
        """Unpack the mask to −1 and +1, one for every pixel and channel; all +1 where there is none."""
        shape = (len(self.sources), *self.private.shape)
        if self.mask is None:
            return torch.ones(shape, dtype=torch.int8)
        height, width = self.private.shape[1:]
        bits = np.unpackbits(self.mask.numpy(), axis=-1, count=height * width, bitorder="little")
        return torch.from_numpy(1 - 2 * bits.astype(np.int8)).reshape(shape)
