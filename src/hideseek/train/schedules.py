"""How the learning rate changes during a training."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass


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
