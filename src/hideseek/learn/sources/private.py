"""Samples that are learnt from under differential privacy."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import Tensor, nn

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.learn.batches import epoch_streams, full_batches, reopened
from hideseek.learn.private_sgd import NoiseSource, PrivateSGD
from hideseek.learn.sources.base import Source, Wrapped
from hideseek.records import Samples
from hideseek.train.training import Training
from hideseek.train.worker import Worker


@dataclass(frozen=True)
class PoissonBatches:
    """Batches for DP-SGD: every image is in each of them with the same probability, independently of the others."""

    samples: Samples
    batch: int
    """The expected number of images in a batch."""
    draws: tuple[Randomness, ...]
    """One stream an epoch."""
    noise: NoiseSource
    """Gets a stream of its own with every batch, so that a resumed training adds the noise that it would have added."""

    @property
    def steps(self) -> int:
        """How many batches an epoch has."""
        return full_batches(len(self.samples), self.batch)

    def epoch(self, number: int, first: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Give the batches of an epoch; they differ in size."""
        draw = reopened(self.draws[number])
        count = len(self.samples)
        for step in range(self.steps):
            self.noise.stream = draw.spawn(1)[0]
            chosen = np.flatnonzero(draw.uniforms(count).numpy() < self.batch / count)
            if step < first:
                continue
            rows = torch.from_numpy(chosen)
            if len(rows):
                yield self.samples.pixels(rows), self.samples.labels[rows]
            else:  # one image whose label has no mass: the step is noise alone, as it must be
                yield self.samples.pixels(slice(1)), torch.zeros_like(self.samples.labels[:1])


@dataclass(frozen=True)
class Private(Source[PoissonBatches]):
    """Plain samples under DP-SGD: the weights are (ε, δ)-differentially private."""

    privacy: PrivateSGD

    @property
    def scheme(self) -> None:
        """No scheme: the samples are not hidden from whoever trains."""
        return None

    def batches(self, training: Training, chance: Randomness, seed: int, worker: Worker) -> PoissonBatches:
        """Sample every batch by itself; who is in it is secret, as the noise is."""
        if worker.world > 1:
            raise BadInput("DP-SGD runs in one process here: start it without torchrun.")
        draws = epoch_streams(chance, training.epochs, worker)
        return PoissonBatches(self.samples, training.batch, draws, NoiseSource(chance))

    @contextmanager
    def wrapped(self, network: nn.Module, training: Training, batches: PoissonBatches) -> Iterator[Wrapped]:
        """Wrap the network so that every image's gradient is clipped and noise is added."""
        each, optimiser = self.privacy.prepared(network, len(self.samples), training, batches.noise)
        with without_warnings():
            # Opacus lays out gradients as images are laid out by default, and clipping must be exact.
            yield Wrapped(each, optimiser, torch.contiguous_format, mixed=False)
        each.to_standard_module()

    def epsilon(self, training: Training, steps: int) -> float:
        """Give the ε that so many steps spend."""
        return self.privacy.spent(len(self.samples), training, steps)

    def identity(self) -> dict[str, object]:
        """Describe images and privacy."""
        return {**super().identity(), "privacy": asdict(self.privacy)}

    def suited(self) -> str:
        """Name a small network without BatchNorm, which DP-SGD cannot train."""
        return "tanh-dense" if min(self.samples.shape[1:]) < 16 else "tanh-convnet"


@contextmanager
def without_warnings() -> Iterator[None]:
    """Ignore torch's warning that Opacus watches the gradients of the first layer, though images need none."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Full backward hook is firing", UserWarning)
        yield
