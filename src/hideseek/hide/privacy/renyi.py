"""ε of training with noise on random batches (DP-SGD), bounded from above by Rényi divergences of whole orders."""

import math

import numpy as np
from scipy.special import gammaln, logsumexp

ORDERS = np.unique(np.concatenate([np.arange(2, 65), np.geomspace(65, 512, 30).astype(int)]))


def renyi_epsilon(multiplier: float, rate: float, steps: int, delta: float) -> float:
    """Give an ε at which so many steps are (ε, δ) differentially private for one example, added or left out.

    Every step draws each example with probability q and adds N(0, (z C)²) to the sum of clipped gradients. At order α

        ρ(α) = log( Σ_k C(α, k) (1 − q)^(α−k) q^k e^(k(k−1)/(2z²)) ) / (α − 1)    (Mironov, Talwar and Zhang 2019, §3.3)
        ε = min_α  T ρ(α) + log(1 − 1/α) − log(δ α) / (α − 1)                     (Balle et al. 2020, theorem 21)

    >>> round(renyi_epsilon(1.0, 0.01, 1000, 1e-5), 2)
    2.11
    """
    if multiplier < 1e-100:
        return math.inf
    best = math.inf
    for order in map(int, ORDERS):
        k = np.arange(order + 1)
        choose = gammaln(order + 1) - gammaln(k + 1) - gammaln(order - k + 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            drawn = k * math.log(rate) + np.where(k == order, 0.0, (order - k) * np.log1p(-rate))
        divergence = float(logsumexp(choose + drawn + k * (k - 1) / (2 * multiplier**2))) / (order - 1)
        bound = steps * divergence + math.log1p(-1 / order) - math.log(delta * order) / (order - 1)
        best = min(best, max(0.0, bound))
    return best
