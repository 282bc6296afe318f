"""The ground truth of a kind of release that hideseek does not know: updates, each of several images or of fewer."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.records import Contents, Encoder, Release, Samples, Task
from hideseek.records.secret import Secret


@dataclass(frozen=True)
class Updates(Release):
    """So many updates; they are no pictures."""

    count: int

    @property
    def encoder(self) -> Encoder:
        raise NotImplementedError

    def size(self) -> Task:
        return Task(self.count, self.count, 1)

    def contents(self) -> Contents:
        return Contents("update", self.count)

    def as_noise(self, chance: Randomness) -> "Updates":
        return self


@dataclass(frozen=True)
class UpdatesSecret(Secret):
    """Which images each update is of; −1 fills up, and one image counts as much as another."""

    images: Int[Tensor, "m k"]

    @property
    def items(self) -> int:
        return len(self.images)

    def holds(self, items: Int[Tensor, " n"]) -> Int[Tensor, "n k"]:
        return self.images[items]

    def shares(self, items: Int[Tensor, " n"]) -> Float[Tensor, "n k"]:
        there = (self.images[items] >= 0).float()
        return there / there.sum(1, keepdim=True).clamp_min(1)

    def withheld(self, field: str) -> Tensor:
        raise NotImplementedError


def updates_of(private: Samples, *images: tuple[int, ...]) -> UpdatesSecret:
    """One update for each tuple of images."""
    most = max(map(len, images))
    return UpdatesSecret(private, torch.tensor([[*each, *[-1] * (most - len(each))] for each in images]))
