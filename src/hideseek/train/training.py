"""How a network is trained, as values: optimisers, schedules, and the papers' own settings by name."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field

import torch
from torch import nn

from hideseek.errors import BadInput


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


class Schedule(ABC):
    """How the learning rate changes: a factor for every share of the training that is done."""

    @abstractmethod
    def factor(self, share: float) -> float:
        """Give the factor of the rate when `share` of the training is done, 0 ≤ share < 1."""


@dataclass(frozen=True)
class Constant(Schedule):
    """The same rate throughout."""

    def factor(self, share: float) -> float:
        """Give 1."""
        return 1.0


@dataclass(frozen=True)
class Steps(Schedule):
    """The rate times `factor_each` at each of some shares of the training.

    Papers name epochs; shares of the training mean the same, and still do when the training is shorter.

    >>> [round(Steps((0.5, 0.75)).factor(share), 3) for share in (0, 0.5, 0.8)]
    [1.0, 0.1, 0.01]
    """

    at: tuple[float, ...]
    factor_each: float = 0.1

    def factor(self, share: float) -> float:
        """Give the factor: a power of `factor_each`."""
        return self.factor_each ** sum(share >= step for step in self.at)


@dataclass(frozen=True)
class Cosine(Schedule):
    """Half a cosine from the rate to zero, after a linear rise over the share `warm`.

    >>> [round(Cosine().factor(share), 3) for share in (0, 0.5, 1)]
    [1.0, 0.5, 0.0]
    """

    warm: float = 0.0

    def factor(self, share: float) -> float:
        """Give the factor: (1 + cos πt) / 2 with t of 0 … 1 after the rise."""
        if share < self.warm:
            return share / self.warm
        return (1 + math.cos(math.pi * (share - self.warm) / (1 - self.warm))) / 2


@dataclass(frozen=True)
class Training:
    """One way to train: how long, in which batches, by which optimiser and schedule."""

    epochs: int
    batch: int = 128
    optimiser: SGD | AdamW = field(default_factory=SGD)
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


def automatic(rows: int) -> Training:
    """Choose a training for a number of images: eight epochs of a large set, many of a small one.

    >>> [(automatic(rows).batch, automatic(rows).epochs) for rows in (160, 2000, 60_000)]
    [(8, 50), (64, 33), (128, 8)]
    """
    batch = next(size for size in (128, 64, 32, 16, 8) if size <= max(8, rows // 20))
    steps = max(1, rows // batch)
    return Training(min(max(8, -(-STEPS // steps)), 100), batch, SGD(0.1 * batch / 128, 0.9, 5e-4), Cosine(warm=0.2))


RECIPES: dict[str, Training] = {
    # InstaHide, Table 3. Deviation: it does not say whether images were augmented; the published code does, on CIFAR.
    "instahide-mnist": Training(30, 128, SGD(), Steps((0.5,))),
    "instahide-cifar10": Training(200, 128, SGD(), Steps((0.5, 0.75)), augment=True),
    "instahide-cifar100": Training(200, 128, SGD(), Steps((0.3, 0.6, 0.8), 0.2), augment=True),
    # "Evaluating gradient inversion attacks and defenses", A.1: ×0.1 every 50 of 200 epochs.
    "gradient-inversion": Training(200, 128, SGD(), Steps((0.25, 0.5, 0.75)), augment=True),
    # Singularized Mixup, Appendix E: a classifier on extracted features.
    "singularized-mnist": Training(120, 128, AdamW(), Cosine()),
    "singularized-cifar10": Training(200, 128, AdamW(), Cosine()),
}
