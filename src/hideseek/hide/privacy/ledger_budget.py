"""A budget of a ledger: how much of any one image may be released, and what is left of it."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from hideseek.errors import BadInput
from hideseek.hide.privacy.gaussian import gaussian_epsilon

HALVINGS = 100  # of an interval, after which float64 has no number inside
MOST = 1e6  # the largest μ that is looked for


class Total(NamedTuple):
    """What all releases of one image spend together.

    Two bounds hold: `every_mu2` takes each release by its μ²; `mu2`, `epsilon` and `delta` take those that have an
    (ε, δ) by that, and the others by their μ². What is not proved is infinite.
    """

    releases: float = 0.0
    every_mu2: float = 0.0
    mu2: float = 0.0
    epsilon: float = 0.0
    delta: float = 0.0

    def plus(self, other: "Total") -> "Total":
        """Give what both spend."""
        return Total(*(one + two for one, two in zip(self, other, strict=True)))

    def epsilon_at(self, delta: float) -> float:
        """Give the ε of all releases together at a δ, the smaller of two bounds.

        μ² of Gaussian mechanisms adds up exactly (Dong, Roth and Su 2022, Corollary 3.3). Others are added to them by
        basic composition (Dwork and Roth 2014, Theorem 3.16): ε₁ + ε₂ at δ₁ + δ₂. That is an upper bound, and not the
        tightest.
        """
        rest = delta - self.delta
        mixed = math.inf
        if rest > 0 or (rest == 0 and self.mu2 == 0):
            mixed = self.epsilon + _epsilon(self.mu2, rest)
        return min(mixed, _epsilon(self.every_mu2, delta))


@dataclass(frozen=True)
class Budget:
    """What may be spent of any one image; what is None has no limit."""

    epsilon: float | None = None
    delta: float = 1e-5
    """That goes with ε."""
    mu: float | None = None
    releases: int | None = None
    """How often an image may be released, proved or not."""

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise BadInput(f"δ must be between 0 and 1, not {self.delta:g}.")
        for name, value in (("ε", self.epsilon), ("μ", self.mu)):
            if value is not None and not 0 < value < math.inf:
                raise BadInput(f"a budget of {name} must be above 0 and finite, not {value:g}.")
        if self.releases is not None and self.releases < 1:
            raise BadInput(f"a budget of releases must be 1 or more, not {self.releases}.")

    @property
    def proves(self) -> bool:
        """Tell whether it limits what is proved, so that nothing without a proof is within it."""
        return self.epsilon is not None or self.mu is not None

    def allows(self, total: Total) -> bool:
        """Tell whether so much is within the budget."""
        return (
            (self.releases is None or total.releases <= self.releases)
            and (self.mu is None or total.every_mu2 <= self.mu**2 * (1 + 1e-12))  # which sums of floats may be over
            and (self.epsilon is None or total.epsilon_at(self.delta) <= self.epsilon)
        )

    def left(self, total: Total) -> float:
        """Give the largest μ of one more Gaussian release that is within the budget; 0 where none is."""
        return _largest(lambda mu: self.allows(total.plus(Total(0.0, mu**2, mu**2)))) if self.proves else math.inf

    def described(self) -> str:
        """Say what it is.

        >>> Budget(epsilon=3.0, releases=5).described()
        'ε = 3 at δ = 1e-05 and 5 releases of an image'
        """
        parts = [
            *([] if self.epsilon is None else [f"ε = {self.epsilon:g} at δ = {self.delta:g}"]),
            *([] if self.mu is None else [f"μ = {self.mu:g}"]),
            *([] if self.releases is None else [f"{self.releases} release{'s'[: self.releases > 1]} of an image"]),
        ]
        return " and ".join(parts) or "no limit"

    def as_json(self) -> dict[str, Any]:
        """Give it as a ledger keeps it."""
        return dict(vars(self))


@lru_cache(maxsize=4096)
def _epsilon(mu2: float, delta: float) -> float:
    """Give the ε of so much μ² at a δ; infinite where no δ is left."""
    return math.inf if mu2 > 0 and delta <= 0 else gaussian_epsilon(math.sqrt(mu2), delta)


def _largest(allowed: Any) -> float:
    """Give the largest μ that is allowed, never more."""
    if not allowed(0.0):
        return 0.0
    low, high = 0.0, MOST
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if allowed(middle) else (low, middle)
    return low
