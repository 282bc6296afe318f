"""From ε and δ to the noise of sums of images, and back, by the proof that fits what is public of the sums."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from scipy.optimize import brentq

from hideseek.errors import BadInput
from hideseek.hide.privacy.allocation import allocated_losses
from hideseek.hide.privacy.gaussian import gaussian_epsilon, gaussian_mu, over_rounds, true_positives
from hideseek.hide.privacy.losses import Losses
from hideseek.hide.privacy.sampled import sampled_losses

Proof = Literal["known-mix", "poisson", "allocation"]
CLOSE = 2e-3  # by what noise may exceed the least that is enough
LEAST, MOST = 0.1, 1e6  # noise multipliers that are counted with: beyond, privacy losses do not fit a grid


@dataclass(frozen=True)
class Account:
    """What is released: `rounds` rounds of n rows, each the sum of m of n images (on average) under noise.

    `known-mix` (W): it may be known who is in which row; each image is in m rows of a round.
    `poisson` (P): each image is in each row with probability m/n, and nobody knows in which.
    `allocation` (A): each image is in m rows of a round, drawn evenly by itself, and nobody knows in which. What holds
    where the mix is known holds too, and where it says more it is what is told.

    Noise is told as its multiplier z: its deviation, in lengths of what one image adds to a row.
    """

    proof: Proof
    m: int
    images: int
    rounds: int = 1

    def mu(self, multiplier: float) -> float:
        """Give μ where the mix is known: an image moves m rows a round by 1/z each, so μ = √(m T) / z.

        >>> Account("known-mix", 4, 100, rounds=9).mu(6.0)
        1.0
        """
        return over_rounds(1 / multiplier, self.m * self.rounds)

    def losses(self, multiplier: float) -> Losses | None:
        """Give the privacy losses where the mix is secret."""
        if self.proof == "known-mix":
            return None
        if not LEAST <= multiplier <= MOST:
            raise BadInput(
                f"noise of {multiplier:.3g} times what an image adds to a row is beyond what the proof {self.proof} is"
                " counted for: choose the proof known-mix, or another epsilon."
            )
        if self.proof == "poisson":
            return sampled_losses(multiplier, self.m / self.images, self.images * self.rounds)
        return allocated_losses(multiplier, self.images, self.m, self.rounds)

    def epsilon(self, multiplier: float, delta: float) -> float:
        """Give ε at δ for an image that is added or left out."""
        return _spent(self, multiplier, delta)

    def true_positives(self, multiplier: float, false_positives: float) -> float:
        """Give the largest TPR of a test for one image at an FPR; also what reconstruction from that prior comes to."""
        losses, known = self.losses(multiplier), true_positives(self.mu(multiplier), false_positives)
        if losses is None:
            return known
        found = losses.true_positives(false_positives)
        return min(found, known) if self.proof == "allocation" else found

    def multiplier(self, epsilon: float, delta: float) -> float:
        """Give the least noise that is enough for (ε, δ), or hardly more.

        >>> from hideseek.hide.privacy.gaussian import gaussian_mu
        >>> round(Account("known-mix", 4, 100).multiplier(3.0, 1e-5) * gaussian_mu(3.0, 1e-5), 6)
        2.0
        """
        if self.proof == "known-mix":
            mu = gaussian_mu(epsilon, delta)
            return math.sqrt(self.m * self.rounds) / mu if mu > 0 else math.inf
        return _searched(self, epsilon, delta)


@lru_cache(maxsize=256)
def _spent(account: Account, multiplier: float, delta: float) -> float:
    losses, known = account.losses(multiplier), gaussian_epsilon(account.mu(multiplier), delta)
    if losses is None:
        return known
    return min(losses.epsilon(delta), known) if account.proof == "allocation" else losses.epsilon(delta)


@lru_cache(maxsize=64)
def _searched(account: Account, epsilon: float, delta: float) -> float:
    """Solve for the noise in an interval, and give hardly more, which is enough.

    What is enough where the mix is known is enough where it is secret and each image is in as many rows; Poisson
    sampling may need more.
    """
    high = replace(account, proof="known-mix").multiplier(epsilon, delta)
    while account.epsilon(high, delta) > epsilon:
        high *= 2
    low = high / 2
    while account.epsilon(low, delta) <= epsilon:
        low, high = low / 2, low
    root = brentq(
        lambda log: account.epsilon(math.exp(log), delta) - epsilon, math.log(low), math.log(high), xtol=CLOSE / 4
    )
    enough = math.exp(root) * (1 + CLOSE / 2)
    while account.epsilon(enough, delta) > epsilon:
        enough *= 1 + CLOSE
    return enough
