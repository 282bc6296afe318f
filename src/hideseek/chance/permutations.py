"""Uniform permutations from random words, compiled."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hideseek.chance.compiled import compiled

WORD = 2**32
MOST = 2**27  # items: with more, words of 32 bits are refused too often


@compiled()
def _shuffle(order: NDArray[np.int64], words: NDArray[np.uint32]) -> bool:  # pragma: no cover (compiled)
    """Shuffle 0, 1, … (Fisher and Yates), each place drawn without bias (Lemire 2019); false if words run out.

    word · bound has the choice in its upper half; it is biased only where the lower half is below 2³² mod bound.
    """
    for place in range(len(order)):
        order[place] = place
    used = 0
    for last in range(len(order) - 1, 0, -1):
        bound = np.uint64(last + 1)
        while True:
            if used == len(words):
                return False
            product = np.uint64(words[used]) * bound
            used += 1
            lower = product & np.uint64(WORD - 1)
            if lower >= bound or lower >= np.uint64(WORD) % bound:
                break
        chosen = np.int64(product >> np.uint64(32))
        order[last], order[chosen] = order[chosen], order[last]
    return True


@compiled()
def has_fixed(order: NDArray[np.int64]) -> bool:  # pragma: no cover (compiled)
    """Tell whether a permutation leaves anything in its place."""
    for place in range(len(order)):  # noqa: SIM110 (numba compiles no generator in any())
        if order[place] == place:
            return True
    return False


def permutation(
    count: int, draw: Callable[[int], NDArray[np.uint32]], out: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Give 0 … count − 1 in an order that is exactly uniform, in `out` if given; `draw(n)` gives n fresh words."""
    if count > MOST:
        raise ValueError(f"at most 2^27 items can be put in order, not {count}.")
    order = np.empty(count, np.int64) if out is None else out
    while True:
        if _shuffle(order, draw(count + count // 64 + 64)):  # running out says nothing of the order, so start over
            return order
