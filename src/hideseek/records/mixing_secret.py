"""The ground truth behind encoded images."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Int8, UInt8
from torch import Tensor

from hideseek.records.moving import moved
from hideseek.records.secret import Secret


@dataclass(frozen=True)
class MixingSecret(Secret):
    """How every row of an EncodedRelease was made, and from what.

    Row r is σ_r ∘ (Σ_j λ_rj x_{s_rj} + noise_r): `sources` are the s_rj, `weights` the λ_rj with the private ones
    first, `mask` the σ_r, packed eight pixels of a channel to a byte (1 is −). The noise needs no field: it is what
    remains.
    """

    sources: Int[Tensor, "m k_private"]
    public_sources: Int[Tensor, "m k_public"]
    weights: Float[Tensor, "m k"]
    mask: UInt8[Tensor, "m c bytes"] | None = None
    transforms: Float[Tensor, "m k 2 3"] | None = None  # where images were moved before they were mixed
    cut_from: Int[Tensor, " patches"] | None = None  # the larger public image that each public patch is from

    @property
    def items(self) -> int:
        """Count the rows."""
        return len(self.sources)

    def holds(self, items: Int[Tensor, " n"]) -> Int[Tensor, "n k_private"]:
        """Give the private images of some rows."""
        return self.sources.cpu()[items.cpu().long()]

    def shares(self, items: Int[Tensor, " n"]) -> Float[Tensor, "n k_private"]:
        """Give their weights."""
        return self.weights.cpu()[items.cpu().long(), : self.sources.shape[1]]

    def public_images(self, *, larger: bool) -> Int[Tensor, "m k_public"]:
        """Give the public images in every row; or the larger images that these were cut from, where they were."""
        return self.cut_from[self.public_sources] if larger and self.cut_from is not None else self.public_sources

    @property
    def masked(self) -> bool:
        """Tell whether there are masks."""
        return self.mask is not None

    @property
    def moves(self) -> bool:
        """Tell whether there are transforms."""
        return self.transforms is not None

    @property
    def flips(self) -> bool:
        """Tell whether a transform turns left and right round."""
        return self.transforms is not None and bool((torch.linalg.det(self.transforms[..., :2]) < 0).any())

    def moved(self, images: Int[Tensor, " n"], items: Int[Tensor, " n"]) -> Float[Tensor, "n c h w"]:
        """Give private images as the rows have them: each moved by its own transform."""
        if self.transforms is None:
            return self.private.pixels(images)
        column = (self.holds(items) == images[:, None]).int().argmax(1)
        return moved(self.private.pixels(images), self.transforms[items, column])

    def withheld(self, field: str) -> Tensor:
        """Give the image that each row was made for, all its images, or their weights."""
        return {"made_for": self.sources[:, 0], "sources": self.sources, "weights": self.weights}[field]

    def signs(self) -> Int8[Tensor, "m c h w"]:
        """Unpack the mask to −1 and +1, one for every pixel and channel; all +1 where there is none."""
        shape = (len(self.sources), *self.private.shape)
        if self.mask is None:
            return torch.ones(shape, dtype=torch.int8)
        height, width = self.private.shape[1:]
        bits = np.unpackbits(self.mask.numpy(), axis=-1, count=height * width, bitorder="little")
        return torch.from_numpy(1 - 2 * bits.astype(np.int8)).reshape(shape)

    def rows(self, rows: Int[Tensor, " n"]) -> MixingSecret:
        """Give the ground truth of some rows."""
        tensors = {name: getattr(self, name) for name in ("sources", "public_sources", "weights", "mask", "transforms")}
        chosen: dict[str, Any] = {name: None if each is None else each[rows] for name, each in tensors.items()}
        return replace(self, **chosen)
