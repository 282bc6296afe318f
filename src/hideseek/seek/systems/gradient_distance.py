"""How far gradients are from those that were shared: the value, and its derivative by every entry, in closed form."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

Flat = Float[Tensor, " entries"]


class Compared(NamedTuple):
    """A distance, and its derivative by every tensor of the gradient."""

    value: Float[Tensor, ""]
    derivatives: list[Tensor]


@dataclass(frozen=True)
class Distance(ABC):
    """A distance of gradients. Every tensor is multiplied by (root mean square of ĝ_l)^−balance first.

    0 leaves tensors as they are, so that biases and the last layers decide, which tell least of an image; at 1 all
    entries count alike.
    """

    balance: float = 0.0

    def to(self, target: Sequence[Tensor], kept: Sequence[Bool[Tensor, "..."]] | None = None) -> "Comparison":
        """Prepare comparisons with gradients that were shared, by the entries that are kept alone, or by all."""
        target = [each.detach() for each in target]
        weights = [
            torch.ones_like(each) if self.balance == 0 else torch.full_like(each, _size(each) ** -self.balance)
            for each in target
        ]
        if kept is not None:
            weights = [weight * entries for weight, entries in zip(weights, kept, strict=True)]
        plain = self.balance == 0 and kept is None
        flat = torch.cat([(each * weight).flatten() for each, weight in zip(target, weights, strict=True)])
        scale = float(flat.norm().clamp_min(1e-30))
        return Comparison(self, flat / scale, None if plain else torch.cat([each.flatten() for each in weights]), scale)

    @abstractmethod
    def between(self, found: Flat, target: Flat, scale: float) -> tuple[Float[Tensor, ""], Flat]:
        """Give the distance of a gradient to a target of length 1, which was `scale` long, and its derivative."""


@dataclass(frozen=True)
class Cosine(Distance):
    """1 − ⟨g, ĝ⟩ / (‖g‖ ‖ĝ‖) of all entries together (Geiping et al. 2020, Eq. 4)."""

    def between(self, found: Flat, target: Flat, scale: float) -> tuple[Float[Tensor, ""], Flat]:
        """Give 1 − c, and (c ĝ' − t) / ‖g‖, where c is the cosine, ĝ' = g / ‖g‖ and t the target."""
        length = found.norm().clamp_min(1e-30)
        cosine = torch.dot(found, target) / length
        return 1 - cosine, (found * (cosine / length) - target) / length


@dataclass(frozen=True)
class Squared(Distance):
    """‖g − ĝ‖² / ‖ĝ‖² (Zhu et al. 2019, Eq. 4).

    Deviation: the paper does not divide; the minimum is the same, and values of different models can be compared.
    """

    def between(self, found: Flat, target: Flat, scale: float) -> tuple[Float[Tensor, ""], Flat]:
        """Give the distance, and its derivative."""
        error = found / scale - target
        return torch.dot(error, error), error * (2 / scale)


@dataclass(frozen=True)
class Comparison:
    """A distance to one gradient, prepared: all tensors in one vector, of length 1."""

    distance: Distance
    target: Flat
    weights: Flat | None
    scale: float

    def __call__(self, gradients: Sequence[Tensor]) -> Compared:
        """Compare the gradients of some images."""
        with torch.no_grad():
            found = torch.cat([each.reshape(-1) for each in gradients])
            if self.weights is not None:
                found = found * self.weights
            value, derivative = self.distance.between(found, self.target, self.scale)
            if self.weights is not None:
                derivative = derivative * self.weights
            parts = derivative.split([each.numel() for each in gradients])
        return Compared(value, [part.view(each.shape) for part, each in zip(parts, gradients, strict=True)])


def _size(tensor: Tensor) -> float:
    """Give the root mean square of a tensor; 1 where all of it is zero."""
    return float(tensor.square().mean().sqrt()) or 1.0
