"""ε of training with noise on random batches (DP-SGD), for noise that a project states."""

from hideseek.federate.claims.records import NotKnown
from hideseek.hide.privacy.renyi import renyi_epsilon


def sampled_gaussian_epsilon(multiplier: float, rate: float, steps: int, delta: float) -> float:
    """Give an ε of so many steps, by Rényi divergences; a project may state noise that is no amount.

    >>> round(sampled_gaussian_epsilon(1.0, 0.01, 1000, 1e-5), 2)
    2.11
    """
    if not multiplier >= 0:
        raise NotKnown(f"the noise multiplier must be 0 or more, not {multiplier}")
    return renyi_epsilon(multiplier, rate, steps, delta)
