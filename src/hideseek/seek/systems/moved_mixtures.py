"""Rows as mixtures of moved images: who is in which row, with what weight, and where."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.records.moving import moved

BLOCK = 1 << 20  # numbers of rows that are worked on together


@dataclass(frozen=True)
class MovedMixtures:
    """Row r is Σ_j λ_rj M_rj x_{s_rj}: M_rj moves the image by an affine map."""

    sources: Int[Tensor, "m k"]
    weights: Float[Tensor, "m k"]
    moves: Float[Tensor, "m k 2 3"]

    def __len__(self) -> int:
        return len(self.sources)

    def some(self, rows: slice) -> "MovedMixtures":
        """Give some rows."""
        return MovedMixtures(self.sources[rows], self.weights[rows], self.moves[rows])

    def blocks(self, pixels: int) -> list[slice]:
        """Divide the rows, so that a block is worked on in bounded memory."""
        step = max(1, BLOCK // max(1, pixels))
        return [slice(first, first + step) for first in range(0, len(self), step)]

    def part(self, images: Float[Tensor, "n c h w"], slot: int) -> Float[Tensor, "m c h w"]:
        """Give λ_rj M_rj x of one image of every row."""
        return self.weights[:, slot, None, None, None] * moved(images[self.sources[:, slot]], self.moves[:, slot])

    def parts(self, images: Float[Tensor, "n c h w"]) -> list[Float[Tensor, "m c h w"]]:
        """Give those of all images of every row."""
        return [self.part(images, slot) for slot in range(self.sources.shape[1])]

    def mixed(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "m c h w"]:
        """Give the rows."""
        return torch.stack(self.parts(images)).sum(0)

    def squared(self) -> "MovedMixtures":
        """Give mixtures with squared weights: what squares of images add to squares of rows."""
        return replace(self, weights=self.weights.square())

    def load(self, power: float, images: int) -> Float[Tensor, "n 1 1 1"]:
        """Give Σ λ^power over the rows of every image."""
        loads = torch.zeros(images).index_add_(0, self.sources.flatten(), self.weights.pow(power).flatten())
        return loads[:, None, None, None]
