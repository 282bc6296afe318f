"""How a network is trained, as values: the optimiser, the batch, how long and by which schedule."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import torch
from torch import nn

from hideseek.errors import BadInput
from hideseek.train import muon
from hideseek.train.schedules import Constant, Cosine, Schedule


@dataclass(frozen=True)
class SGD:
    """Stochastic gradient descent with momentum."""

    rate: float = 0.1
    momentum: float = 0.9
    decay: float = 1e-4
    """Weight decay: the ℓ2 penalty of every parameter."""

    def build(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """Give the optimiser of some parameters."""
        return torch.optim.SGD(parameters, lr=self.rate, momentum=self.momentum, weight_decay=self.decay)


@dataclass(frozen=True)
class AdamW:
    """Adam with decoupled weight decay."""

    rate: float = 1e-3
    decay: float = 1e-4

    def build(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """Give the optimiser of some parameters."""
        return torch.optim.AdamW(parameters, lr=self.rate, weight_decay=self.decay)


@dataclass(frozen=True)
class Muon:
    """Orthogonal steps for convolutions, SGD for everything else (`hideseek.train.muon`)."""

    rate: float = 0.1
    momentum: float = 0.6
    decay: float = 0.0
    others: SGD = field(default_factory=lambda: SGD(0.1, 0.9, 5e-4))
    """Its rate changes with the other."""

    def build(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """Give the optimiser of some parameters."""
        others = (self.others.rate, self.others.momentum, self.others.decay)
        return muon.Muon(parameters, self.rate, self.momentum, self.decay, others)


@dataclass(frozen=True)
class Training:
    """One way to train: how long, in which batches, by which optimiser and schedule."""

    epochs: int
    batch: int = 128
    optimiser: SGD | AdamW | Muon = field(default_factory=SGD)
    schedule: Schedule = field(default_factory=Constant)
    augment: bool = False
    """Shift every image by up to an eighth of its side and mirror half of them, anew each time they are seen."""

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch < 1:
            raise BadInput(f"training needs at least one epoch and one image a batch, not {self.epochs}, {self.batch}.")
        if not 0 < self.optimiser.rate < math.inf:
            raise BadInput(f"the learning rate must be positive and finite, not {self.optimiser.rate}.")

    def rate(self, share: float) -> float:
        """Give the learning rate when `share` of the training is done."""
        return self.optimiser.rate * self.schedule.factor(share)


STEPS = 1000  # that a network needs at least to learn anything
LARGE = 128  # images in a batch from which on Muon's products cost little beside its gradient


def automatic(rows: int, *, descends: bool = False) -> Training:
    """Choose a training for a number of images: eight epochs of a large set, many of a small one.

    Large batches are worth the products of Muon, which cost a 40th of the gradient of 128 small photographs: it brings
    InstaHide's rows further in the same steps (`studies/accuracy_over_compute.py`). Images themselves get it too, so
    that what hiding costs is told from trainings that are alike. `descends`: steps must go down the gradient as it is,
    since that is what is shared, or what gets noise.

    >>> [(automatic(rows).batch, automatic(rows).epochs) for rows in (160, 2000, 60_000)]
    [(8, 50), (64, 33), (128, 8)]
    """
    batch = next(size for size in (128, 64, 32, 16, 8) if size <= max(8, rows // 20))
    steps = max(1, rows // batch)
    descent = SGD(0.1 * batch / 128, 0.9, 5e-4)
    optimiser = descent if descends or batch < LARGE else Muon()
    return Training(min(max(8, -(-STEPS // steps)), 100), batch, optimiser, Cosine(warm=0.2))
