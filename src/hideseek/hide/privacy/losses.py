"""What a privacy-loss distribution says: ε at δ, and TPR at FPR."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

FURTHEST = 60.0  # ε beyond which e^ε · FPR says nothing of any FPR that is asked about
STEPS = 2000  # values of ε that the trade-off is read at


@dataclass(frozen=True)
class Losses:
    """The privacy losses of a mechanism, pessimistic: an image that is added, and one that is left out."""

    distribution: Any = field(repr=False)
    """Of dp_accounting, which has no types."""

    def epsilon(self, delta: float) -> float:
        """Give an ε at which the mechanism is (ε, δ) differentially private."""
        return float(self.distribution.get_epsilon_for_delta(delta))

    def delta(self, epsilon: float) -> float:
        """Give a δ at which it is."""
        return float(self.distribution.get_delta_for_epsilon(epsilon))

    def true_positives(self, false_positives: float) -> float:
        """Give the most that a test for one image finds at a share of false alarms.

        TPR ≤ min over ε of e^ε FPR + δ(ε), and of 1 − e^−ε (1 − δ(ε) − FPR)    (Kairouz, Oh and Viswanath 2015)
        """
        epsilons = np.linspace(0.0, min(FURTHEST, self.epsilon(1e-12) + 1.0), STEPS)
        deltas = np.asarray(self.distribution.get_delta_for_epsilon(epsilons))
        one = np.exp(epsilons) * false_positives + deltas
        other = 1 - np.exp(-epsilons) * np.maximum(0.0, 1 - deltas - false_positives)
        return float(min(one.min(), other.min(), 1.0))
