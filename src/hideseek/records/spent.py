"""What a release tells of one image at most, and by which proof: what a ledger adds up."""

import math
from dataclasses import dataclass

from hideseek.errors import BadInput

NO_PROOF = "none"


@dataclass(frozen=True)
class Spent:
    """What all rounds of a release spend of any one image that is in it once; the default: nothing is proved.

    `mu2` is μ² of the Gaussian mechanism that is at least as easy to attack (μ-GDP, Dong, Roth and Su 2022): of several
    releases it adds up. `epsilon` and `delta` are given where sampling makes the proof stronger than any Gaussian's, as
    in DP-SGD: of several releases both add up. Where both are given, both hold.
    """

    proof: str = NO_PROOF
    """By its name: `none`, `gaussian` (the mix may be known), `poisson` and `allocation` (who is where is secret)."""
    mu2: float | None = None
    """None: no finite μ is proved."""
    epsilon: float | None = None
    """None: no (ε, δ) is proved beside μ."""
    delta: float = 0.0

    def __post_init__(self) -> None:
        values = [value for value in (self.mu2, self.epsilon) if value is not None]
        if not all(0 <= value < math.inf for value in values) or not 0 <= self.delta < 1:
            raise BadInput("what a release spends must be finite, μ² and ε 0 or more, and δ at least 0 and below 1.")
        if (self.proof == NO_PROOF) != (not values):
            raise BadInput("a release has a proof and what it spends, or neither.")

    @property
    def proved(self) -> bool:
        """Tell whether anything is proved."""
        return self.proof != NO_PROOF
