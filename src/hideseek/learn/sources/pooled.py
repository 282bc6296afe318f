"""Encodings that several parties send, anew for every epoch: what a server of a federation learns from."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from torch import Tensor

from hideseek.chance import Randomness, seeded
from hideseek.learn.batches import epoch_streams, full_batches, reopened
from hideseek.learn.sources.base import Source
from hideseek.records import MixingEncoder, Samples
from hideseek.train.training import Training
from hideseek.train.worker import Worker


@dataclass(frozen=True)
class PooledBatches:
    """The rows of all parties, shuffled across them; every epoch has rows of its own, each of which is used once.

    An epoch has as many batches as the first: where a party is missing, batches are smaller.
    """

    first: Samples
    collect: Callable[[int], Samples]
    batch: int
    orders: tuple[Randomness, ...]
    """One stream an epoch."""

    @property
    def steps(self) -> int:
        """How many batches an epoch has."""
        return full_batches(len(self.first), self.batch)

    def epoch(self, number: int, first: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Give the batches of an epoch."""
        rows = self.collect(number)
        order = reopened(self.orders[number]).permutation(len(rows))
        for some in order.tensor_split(self.steps)[first:]:
            yield rows.pixels(some), rows.labels[some]


@dataclass(frozen=True)
class Pooled(Source[PooledBatches]):
    """Rows of the first epoch, and a function that gives those of every epoch, counted from 0."""

    encoder: MixingEncoder
    collect: Callable[[int], Samples]
    name: str
    """Tells federations apart, so that a checkpoint is not resumed in another."""

    @property
    def scheme(self) -> MixingEncoder:
        """The scheme that parties agreed on."""
        return self.encoder

    def batches(self, training: Training, chance: Randomness, seed: int, worker: Worker) -> PooledBatches:
        """Give the rows in fresh orders; an order is no secret, so it comes from the seed."""
        orders = epoch_streams(seeded(seed), training.epochs, worker)
        return PooledBatches(self.samples, self.collect, training.batch, orders)

    def identity(self) -> dict[str, object]:
        """Describe the federation, whose rows come with time."""
        return {"federation": self.name}
