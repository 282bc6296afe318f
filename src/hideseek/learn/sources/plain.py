"""Samples that are the same in every epoch: plain images, or the encodings of a release."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from torch import Tensor

from hideseek.chance import Randomness, seeded
from hideseek.learn.batches import epoch_streams, full_batches, reopened
from hideseek.learn.sources.base import Source
from hideseek.records import EncodedRelease, MixingEncoder, Samples
from hideseek.train.training import Training
from hideseek.train.worker import Worker


@dataclass(frozen=True)
class ShuffledBatches:
    """The same samples every epoch, each time in a fresh order.

    Rows that do not fill a last batch wait for another epoch.
    """

    samples: Samples
    batch: int
    orders: tuple[Randomness, ...]
    """One stream an epoch."""

    @property
    def steps(self) -> int:
        """How many batches an epoch has."""
        return full_batches(len(self.samples), self.batch)

    def epoch(self, number: int, first: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Give the batches of an epoch."""
        order = reopened(self.orders[number]).permutation(len(self.samples))
        for rows in order.split(self.batch)[first : self.steps]:
            yield self.samples.pixels(rows), self.samples.labels[rows]


@dataclass(frozen=True)
class Plain(Source[ShuffledBatches]):
    """Samples as they are: vanilla training, or what a server does with a release."""

    scheme: MixingEncoder | None = None
    """The scheme that made the samples, where they are encodings."""

    @classmethod
    def of(cls, release: EncodedRelease) -> Self:
        """Give the encodings of a release, with its scheme."""
        return cls(release.encoded, release.scheme)

    def batches(self, training: Training, chance: Randomness, seed: int, worker: Worker) -> ShuffledBatches:
        """Give the samples in fresh orders; an order of batches is no secret, so it comes from the seed."""
        return ShuffledBatches(self.samples, training.batch, epoch_streams(seeded(seed), training.epochs, worker))
