"""The likeliest pairs of images of every row: which there may be, block by block, and the best of all."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.progress import track
from hideseek.seek.signals.row_slots import RowSlots
from hideseek.seek.systems.mixtures import Mixtures

KEPT = 32  # pairs a row
WIDE = 1 << 12  # pairs at a time


@dataclass(frozen=True)
class PairScores:
    """The likeliest pairs of every row, with their log-likelihoods but for a constant of the row."""

    pairs: Int[Tensor, "m kept 2"]
    """In the order of the row's slots."""
    scores: Float[Tensor, "m kept"]
    """−∞ where there are fewer pairs."""
    weights: Float[Tensor, "m kept 2"]

    @classmethod
    def none(cls, rows: int) -> Self:
        """Begin with no pairs."""
        pairs, scores = torch.zeros(rows, KEPT, 2, dtype=torch.int64), torch.full((rows, KEPT), -torch.inf)
        return cls(pairs, scores, torch.zeros(rows, KEPT, 2))

    def mixtures(self, chances: Float[Tensor, "m kept"], images: int) -> Mixtures:
        """Give the mean of what each row is mixed of, under these probabilities of its pairs."""
        return Mixtures(self.pairs.flatten(1), (self.weights * chances[..., None]).flatten(1).contiguous(), images)

    def keep(
        self,
        rows: Int[Tensor, " some"],
        pairs: Int[Tensor, "pairs 2"],
        values: Float[Tensor, "some pairs"],
        weights: Float[Tensor, "some pairs 2"],
    ) -> None:
        """Keep the best of these pairs and those of before, for some rows."""
        best, place = torch.cat([self.scores[rows], values], 1).topk(KEPT)
        fresh = (place >= KEPT)[..., None]
        before, after = (place.clamp_max(KEPT - 1), (place - KEPT).clamp_min(0))
        self.scores[rows] = best
        self.pairs[rows] = torch.where(fresh, pairs[after], self.pairs[rows].gather(1, _twice(before)))
        new = weights.gather(1, _twice(after))
        self.weights[rows] = torch.where(fresh, new, self.weights[rows].gather(1, _twice(before)))


@dataclass(frozen=True)
class PairBlock:
    """Some pairs of images, and the rows that may hold them by their classes."""

    rows: Int[Tensor, " some"]
    pairs: Int[Tensor, "pairs 2"]
    same: bool
    """Whether both images are of one class: then the label tells only the sum of their weights."""


def pair_blocks(slots: RowSlots, title: str) -> Iterator[PairBlock]:
    """Give all pairs of images of any two classes that a row has."""
    owners = slots.image_classes
    kinds, which = slots.classes.unique(dim=0, return_inverse=True)
    for number, (first, second) in enumerate(track(kinds.tolist(), title)):
        rows = (which == number).nonzero()[:, 0]
        ones, twos = (owners == first).nonzero()[:, 0], (owners == second).nonzero()[:, 0]
        for part in ones.split(max(1, WIDE // max(1, len(twos)))):
            pairs = torch.cartesian_prod(part, twos)
            if first == second:
                pairs = pairs[pairs[:, 0] < pairs[:, 1]]
            if len(pairs):
                yield PairBlock(rows, pairs, first == second)


def _twice(places: Int[Tensor, "some kept"]) -> Int[Tensor, "some kept 2"]:
    """Give places for both images of pairs."""
    return places[..., None].expand(-1, -1, 2)
