"""What epochs are made of: fixed samples in a fresh order, or private ones encoded anew."""

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records import Encoder, Samples
from hideseek.train.worker import Worker

PIECE = 1 << 22  # pixels that are encoded at a time: 16 MiB of floats, which malloc hands out again untouched

T = TypeVar("T")


@dataclass(frozen=True)
class Shuffled:
    """The same samples every epoch, plain or from a release, each time in a fresh order.

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
        order = again(self.orders[number]).permutation(len(self.samples))
        for rows in order.split(self.batch)[first : self.steps]:
            yield self.samples.pixels(rows), self.samples.labels[rows]


@dataclass(frozen=True)
class Reencoded:
    """Private samples, encoded anew for every epoch under fresh keys, in a fresh order (InstaHide §4.1, §6).

    Where the model computes on a device of its own, they are made on another thread meanwhile; on a processor that
    would only disturb it, and they are made piece by piece between its steps. A resumed run makes an epoch's encodings
    again if its keys come from a seed; else they are lost with the process that drew them, and fresh ones fill the
    epoch.
    """

    private: Samples
    public: Samples | None
    encoder: Encoder
    batch: int
    keys: tuple[Randomness, ...]
    """One stream an epoch."""
    alongside: bool = False
    """Whether the model computes elsewhere."""

    @property
    def steps(self) -> int:
        """How many batches an epoch has."""
        return full_batches(len(self.private), self.batch)

    def epoch(self, number: int, first: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Give the batches of an epoch."""
        batches = max(1, PIECE // (self.batch * math.prod(self.private.shape)))
        pieces = self.encoder.encodings(self.private, self.public, again(self.keys[number]), batches * self.batch)
        for piece_number, piece in enumerate(ahead(pieces) if self.alongside else pieces):
            for place in range(len(piece) // self.batch):
                if piece_number * batches + place >= first:
                    rows = slice(place * self.batch, (place + 1) * self.batch)
                    yield piece.images[rows], piece.labels[rows]


def full_batches(rows: int, batch: int) -> int:
    """Give how many full batches there are, at least one."""
    if rows < batch:
        raise BadInput(f"{rows} images are fewer than a batch of {batch}: lower --batch or add images.")
    return rows // batch


def again(stream: Randomness) -> Randomness:
    """Open a stream at its beginning."""
    return Randomness(stream.key, stream.seed)


def streams(chance: Randomness, epochs: int, worker: Worker) -> tuple[Randomness, ...]:
    """Draw a stream for every epoch, the same in all processes that train together."""
    keys = worker.agreed(chance.bytes(32 * epochs))
    return tuple(Randomness(keys[32 * i : 32 * (i + 1)], chance.seed) for i in range(epochs))


def ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield items, each made on another thread while the one before it is used."""
    with ThreadPoolExecutor(1, "ahead") as maker:
        ended = object()
        coming = maker.submit(next, items, ended)
        while (item := coming.result()) is not ended:
            coming = maker.submit(next, items, ended)
            yield item  # type: ignore[misc]


def one_seed(chance: Randomness, worker: Worker) -> int:
    """Draw a seed for what is no secret, the same in all processes that train together."""
    return int.from_bytes(worker.agreed(chance.bytes(6)), "little")


def needs_classes(samples: Samples) -> None:
    """Refuse samples that nothing can be learnt from: unlabelled, or of one class."""
    if samples.labels.shape[1] == 0:
        raise BadInput("these images have no labels to learn from: name labelled ones (a subfolder a class).")
    if int(torch.count_nonzero(samples.labels.sum(0))) < 2:
        raise BadInput("all images are of one class, so there is nothing to tell apart: add images of another class.")
