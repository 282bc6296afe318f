"""Private samples that are encoded anew for every epoch, under fresh keys (InstaHide §4.1, §6)."""

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Self, TypeVar

from torch import Tensor

from hideseek.chance import Randomness
from hideseek.data.digests import fingerprint
from hideseek.learn.batches import epoch_streams, full_batches, reopened
from hideseek.learn.sources.base import Source
from hideseek.records import MixingEncoder, Samples
from hideseek.train.training import Training
from hideseek.train.worker import Worker

PIECE = 1 << 22  # pixels that are encoded at a time: 16 MiB of floats, which malloc hands out again untouched

T = TypeVar("T")


@dataclass(frozen=True)
class EncodedBatches:
    """Fresh encodings of the private samples every epoch, in a fresh order.

    Where the model computes on a device of its own, the encodings are made on another thread meanwhile. On a processor
    that would slow the model down, so they are made piece by piece between its steps. A resumed run makes an epoch's
    encodings again if its keys come from a seed. Otherwise the keys are lost with the process that drew them, and fresh
    encodings fill the epoch.
    """

    private: Samples
    public: Samples | None
    encoder: MixingEncoder
    batch: int
    keys: tuple[Randomness, ...]
    """One stream an epoch."""
    alongside: bool = False
    """Whether the model computes on a device of its own."""

    @property
    def steps(self) -> int:
        """How many batches an epoch has."""
        return full_batches(len(self.private), self.batch)

    def epoch(self, number: int, first: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Give the batches of an epoch."""
        batches = max(1, PIECE // (self.batch * math.prod(self.private.shape)))
        keys = reopened(self.keys[number])
        pieces = self.encoder.encodings(self.private, self.public, keys, batches * self.batch)
        for piece_number, piece in enumerate(ahead(pieces) if self.alongside else pieces):
            for place in range(len(piece) // self.batch):
                if piece_number * batches + place >= first:
                    rows = slice(place * self.batch, (place + 1) * self.batch)
                    yield piece.images[rows], piece.labels[rows]


@dataclass(frozen=True)
class Reencoded(Source[EncodedBatches]):
    """Private samples, the encoder that hides them anew for every epoch, and public samples where it mixes some in."""

    encoder: MixingEncoder
    public: Samples | None = None

    @property
    def scheme(self) -> MixingEncoder:
        """The encoder."""
        return self.encoder

    def with_estimates(self, chance: Randomness, epochs: int) -> Self:
        """Estimate once what the encoder takes from the private samples, so that all epochs are encoded alike."""
        return replace(self, encoder=self.encoder.for_rounds(epochs).with_estimates(self.samples, self.public, chance))

    def batches(self, training: Training, chance: Randomness, seed: int, worker: Worker) -> EncodedBatches:
        """Give fresh encodings every epoch; their keys are secret."""
        keys = epoch_streams(chance, training.epochs, worker)
        alongside = worker.device.type != "cpu"
        return EncodedBatches(self.samples, self.public, self.encoder, training.batch, keys, alongside)

    def identity(self) -> dict[str, object]:
        """Describe images, public images and the encoder."""
        public = None if self.public is None else fingerprint(self.public)
        return {**super().identity(), "public images": public, "scheme": repr(self.encoder)}


def ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield items, each made on another thread while the one before it is used."""
    with ThreadPoolExecutor(1, "ahead") as maker:
        ended = object()
        coming = maker.submit(next, items, ended)
        while (item := coming.result()) is not ended:
            coming = maker.submit(next, items, ended)
            yield item  # type: ignore[misc]
