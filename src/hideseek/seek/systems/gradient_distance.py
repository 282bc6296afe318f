"""How far gradients are from those that were shared: the value, and its derivative by every entry, in closed form."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

TINY = 1e-30
Flat = Float[Tensor, " entries"]


class Compared(NamedTuple):
    """A distance, its derivative by every tensor of the gradient, and how long that is."""

    value: Float[Tensor, ""]
    derivatives: list[Tensor]
    length: float


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
        scale = float(flat.norm().clamp_min(TINY))
        return Comparison(self, flat / scale, None if plain else torch.cat([each.flatten() for each in weights]), scale)

    def to_allowed(
        self, sent: Sequence[Tensor], low: Sequence[Tensor], high: Sequence[Tensor], inside: float = 0.0
    ) -> "Intervals":  # fmt: skip
        """Prepare comparisons with what a message allows: gradients between `low` and `high` are at no distance."""
        weights = torch.cat([torch.full_like(each, _size(each) ** -self.balance).flatten() for each in sent])
        flat = [torch.cat([each.detach().flatten() for each in some]) * weights for some in (sent, low, high)]
        scale = float(flat[0].norm().clamp_min(TINY))
        return Intervals(self, flat[0] / scale, weights, scale, flat[1], flat[2], inside)

    @abstractmethod
    def outside(self, found: Flat, allowed: "Intervals") -> tuple[Float[Tensor, ""], Flat]:
        """Give how far a gradient is outside of intervals, and its derivative; for points it is `between`."""

    @abstractmethod
    def between(self, found: Flat, target: Flat, scale: float) -> tuple[Float[Tensor, ""], Flat]:
        """Give the distance of a gradient to a target of length 1, which was `scale` long, and its derivative.

        The derivative may take the place of the gradient.
        """


@dataclass(frozen=True)
class Cosine(Distance):
    """1 − ⟨g, ĝ⟩ / (‖g‖ ‖ĝ‖) of all entries together (Geiping et al. 2020, Eq. 4)."""

    def between(self, found: Flat, target: Flat, scale: float) -> tuple[Float[Tensor, ""], Flat]:
        """Give 1 − c, and (c ĝ' − t) / ‖g‖, where c is the cosine, ĝ' = g / ‖g‖ and t the target."""
        square = torch.dot(found, found).clamp_min(TINY)  # faster than a norm
        length = square.sqrt()
        cosine = torch.dot(found, target) / length
        return 1 - cosine, found.mul_(cosine / square).sub_(target, alpha=1 / float(length))

    def outside(self, found: Flat, allowed: "Intervals") -> tuple[Float[Tensor, ""], Flat]:
        """Give D(αg) / 2, D as of `Squared`, where α makes the entries E that were sent as they are (or all) as long.

        The derivative is α(r − g_E ⟨r, g⟩ / ‖g_E‖²) / s², with r = s² D'(αg) / 2. For points it is 1 − cos.
        """
        some = found if allowed.exact is None else found * allowed.exact
        square = torch.dot(some, some).clamp_min(TINY)
        factor = allowed.told / square.sqrt()
        value, rest = allowed.misses(found * factor)
        slope = rest - some * (torch.dot(rest, found) / square)
        return value / (2 * allowed.scale**2), slope * (factor / allowed.scale**2)


@dataclass(frozen=True)
class Squared(Distance):
    """‖g − ĝ‖² / ‖ĝ‖² (Zhu et al. 2019, Eq. 4).

    Deviation: the paper does not divide; the minimum is the same, and values of different models can be compared.
    """

    def between(self, found: Flat, target: Flat, scale: float) -> tuple[Float[Tensor, ""], Flat]:
        """Give the distance, and its derivative."""
        error = found / scale - target
        return torch.dot(error, error), error * (2 / scale)

    def outside(self, found: Flat, allowed: "Intervals") -> tuple[Float[Tensor, ""], Flat]:
        """Give (‖g − P(g)‖² + inside ‖g − ĝ‖²) / s², P the nearest allowed and s = ‖ĝ‖, and its derivative."""
        value, rest = allowed.misses(found)
        return value / allowed.scale**2, rest * (2 / allowed.scale**2)


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
                found.mul_(self.weights)
            value, derivative = self._compared(found)
            if self.weights is not None:
                derivative = derivative.mul_(self.weights)
            length = float(torch.dot(derivative, derivative)) ** 0.5
            parts = derivative.split([each.numel() for each in gradients])
        derivatives = [part.view(each.shape) for part, each in zip(parts, gradients, strict=True)]
        return Compared(value, derivatives, length)

    def _compared(self, found: Flat) -> tuple[Float[Tensor, ""], Flat]:
        return self.distance.between(found, self.target, self.scale)


@dataclass(frozen=True)
class Intervals(Comparison):
    """A distance to what a message allows: an interval for every entry, and a point where it was sent as it is."""

    low: Flat
    high: Flat
    inside: float = 0.0
    """The weight of the distance from what was sent, inside of intervals too."""

    @cached_property
    def exact(self) -> Flat | None:
        """Mark entries that were sent as they are; None where none was."""
        points = self.low == self.high
        return points.to(self.low) if bool((points & (self.low != 0)).any()) else None

    @cached_property
    def told(self) -> float:
        """Give the length of what was sent, in entries that are exact, or in all."""
        return float((self.target if self.exact is None else self.target * self.exact).norm()) * self.scale

    def misses(self, found: Flat) -> tuple[Float[Tensor, ""], Flat]:
        """Give ‖g − P(g)‖² + inside ‖g − ĝ‖², and half of its derivative."""
        rest = found - torch.minimum(torch.maximum(found, self.low), self.high)
        if not self.inside:
            return torch.dot(rest, rest), rest
        apart = found - self.target * self.scale
        return torch.dot(rest, rest) + self.inside * torch.dot(apart, apart), rest + self.inside * apart

    def _compared(self, found: Flat) -> tuple[Float[Tensor, ""], Flat]:
        return self.distance.outside(found, self)


def _size(tensor: Tensor) -> float:
    """Give the root mean square of a tensor; 1 where all of it is zero."""
    return float(tensor.square().mean().sqrt()) or 1.0
