"""Samples that are learnt from by defended gradients, as in federated learning; they may be encoded anew before."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor, nn

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.learn.sources.base import Source, Wrapped
from hideseek.learn.sources.plain import Plain
from hideseek.learn.sources.reencoded import Reencoded
from hideseek.records import MixingEncoder
from hideseek.records.update_encoder import UpdateEncoder
from hideseek.train.loop import Batches
from hideseek.train.training import Training
from hideseek.train.worker import Worker


@dataclass(frozen=True)
class DefendedBatches:
    """The batches of a source, and the stream of what the defences draw."""

    batches: Batches
    noise: Randomness

    @property
    def steps(self) -> int:
        """How many batches an epoch has."""
        return self.batches.steps

    def epoch(self, number: int, first: int) -> Iterator[tuple[Tensor, ...]]:
        """Give the batches of an epoch."""
        return self.batches.epoch(number, first)


@dataclass(frozen=True)
class Defended(Source[DefendedBatches]):
    """Samples, and a client whose encoding and defences every step goes through.

    Deviation: the gradient that is defended is that of the training's own batch, in one process, and every step
    sends it; of several local steps, and of many clients whose updates are averaged, nothing is said.
    """

    client: UpdateEncoder

    @property
    def scheme(self) -> MixingEncoder | None:
        """How images are encoded before."""
        return self.client.encoding

    def with_estimates(self, chance: Randomness, epochs: int) -> Self:
        """Estimate once what the encoding takes from the samples."""
        encoding = self.client.encoding
        if encoding is None:
            return self
        estimated: Any = encoding.for_rounds(epochs).with_estimates(self.samples, None, chance)
        return replace(self, client=replace(self.client, encoding=estimated))  # type: ignore[type-var]

    def batches(self, training: Training, chance: Randomness, seed: int, worker: Worker) -> DefendedBatches:
        """Give plain batches, or fresh encodings every epoch."""
        if worker.world > 1:
            raise BadInput("gradients are defended in one process here: start it without torchrun.")
        encoding = self.client.encoding
        source: Source[Any] = Plain(self.samples) if encoding is None else Reencoded(self.samples, encoding)
        noise = chance.spawn(1)[0]
        return DefendedBatches(source.batches(training, chance, seed, worker), noise)

    @contextmanager
    def wrapped(self, network: nn.Module, training: Training, batches: DefendedBatches) -> Iterator[Wrapped]:
        """Let every gradient pass through the defences before the optimiser takes a step by it."""
        optimiser = training.optimiser.build(network.parameters())

        def defend(*_: object) -> None:
            gradients = {name: each.grad for name, each in network.named_parameters() if each.grad is not None}
            sent = {name: gradient.cpu() for name, gradient in gradients.items()}
            for defence in self.client.defences:
                sent = defence.apply(sent, batches.noise)
            for name, gradient in gradients.items():
                gradient.copy_(sent[name])

        handle = optimiser.register_step_pre_hook(defend)
        try:
            yield Wrapped(network, optimiser, torch.contiguous_format)
        finally:
            handle.remove()

    def identity(self) -> dict[str, object]:
        """Describe images and client."""
        return {**super().identity(), "client": repr(self.client)}
