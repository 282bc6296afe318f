"""Weights whose sum is known have one unknown less: the last is what the others leave."""

import numpy as np

from hideseek.seek.systems.pair_votes import Array


def reduced(differences: Array, mass: float | None) -> Array:
    """Give what Σ_j μ_j d_j changes by with every weight that is free, of j × pairs; the last pays for the others.

    >>> reduced(np.array([[3.0], [1.0]]), 0.5).tolist(), reduced(np.array([[3.0], [1.0]]), None).tolist()
    ([[2.0]], [[3.0], [1.0]])
    """
    return differences if mass is None else differences[:-1] - differences[-1:]


def completed(free: Array, mass: float | None) -> Array:
    """Give all weights from those that are free.

    >>> completed(np.array([0.25]), 0.75).tolist()
    [0.25, 0.5]
    """
    return free if mass is None else np.append(free, mass - free.sum())
