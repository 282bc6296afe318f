"""The contract of what a network learns from."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

import torch
from torch import nn

from hideseek.chance import Randomness
from hideseek.data.digests import fingerprint
from hideseek.records import MixingEncoder, Samples
from hideseek.train.loop import Batches
from hideseek.train.training import Training
from hideseek.train.worker import Worker

B = TypeVar("B", bound=Batches)


@dataclass(frozen=True)
class Wrapped:
    """A network as the training loop takes it, its optimiser if it is a special one, and how it computes."""

    network: nn.Module
    optimiser: torch.optim.Optimizer | None = None
    """None: the optimiser of the training."""
    layout: torch.memory_format = torch.channels_last
    """How images lie in memory; convolutions are fastest with their channels last."""
    mixed: bool = True
    """Whether a GPU may compute in bfloat16."""


@dataclass(frozen=True)
class Source(ABC, Generic[B]):
    """A frozen dataclass of what is learnt from and how it is protected; `learn` trains on it."""

    samples: Samples
    """Their shape, classes and normalisation are those of the model."""

    @property
    @abstractmethod
    def scheme(self) -> MixingEncoder | None:
        """The scheme that hid the images, if one did."""

    @abstractmethod
    def batches(self, training: Training, chance: Randomness, seed: int, worker: Worker) -> B:
        """Give the batches of all epochs: secrets are drawn from `chance`, what is no secret from `seed`."""

    def with_estimates(self, chance: Randomness, epochs: int) -> Self:
        """Give the source whose scheme has all filled in: what it takes from the samples, and from so many epochs."""
        return self

    @contextmanager
    def wrapped(self, network: nn.Module, training: Training, batches: B) -> Iterator[Wrapped]:
        """Wrap the network for as long as it is trained on the batches."""
        yield Wrapped(network)

    def epsilon(self, training: Training, steps: int) -> float | None:
        """Give the ε that so many steps of the training spend; None where nothing is guaranteed."""
        return None

    def identity(self) -> dict[str, object]:
        """Describe the source as JSON can, so that a checkpoint is not resumed on another."""
        return {"images": fingerprint(self.samples)}

    def suited(self) -> str:
        """Name a small network that suits the samples and how they are hidden."""
        return suited(self.samples, self.scheme)


def suited(samples: Samples, scheme: MixingEncoder | None = None) -> str:
    """Name a small network for some samples: under a mask of signs one that looks at |x|."""
    if min(samples.shape[1:]) < 8:
        return "classifier"
    return "small-resnet-masked" if scheme is not None and scheme.masked else "small-resnet"
