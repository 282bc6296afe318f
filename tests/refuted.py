"""What canaries refute of a stated proof: a bound of few lines, for tests of encoders."""

import numpy as np
from scipy import stats

Array = np.ndarray


def rates(scores: Array, inside: Array, threshold: float, error: float) -> tuple[float, float]:
    """A TPR that is at least this, and an FPR that is at most this, with this error together (Clopper and Pearson)."""
    hits, members = int((scores[inside] > threshold).sum()), int(inside.sum())
    alarms, others = int((scores[~inside] > threshold).sum()), int((~inside).sum())
    low = 0.0 if hits == 0 else float(stats.beta.ppf(error / 2, hits, members - hits + 1))
    high = 1.0 if alarms == others else float(stats.beta.ppf(1 - error / 2, alarms + 1, others - alarms))
    return low, high


def refuted_mu(scores: Array, inside: Array, threshold: float, error: float = 0.05) -> float:
    """The largest μ that is refuted: a μ-GDP mechanism has TPR ≤ Φ(Φ⁻¹(FPR) + μ)."""
    low, high = rates(scores, inside, threshold, error)
    return max(0.0, float(stats.norm.ppf(low) - stats.norm.ppf(high)))
