"""Uniform permutations.

Every statistical test here has a fixed seed and would fail for one seed in a million if all is right.
"""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from hideseek.chance import seeded
from hideseek.chance.permutations import permutation

ERROR = 1e-6


def uniform_counts(observed: Counter[tuple[int, ...]], outcomes: int) -> float:
    """The p-value of all outcomes being equally likely."""
    counts = [*observed.values(), *[0] * (outcomes - len(observed))]
    return float(stats.chisquare(counts).pvalue)


def test_permutations_are_uniform() -> None:
    chance = seeded(6)
    seen = Counter(tuple(chance.permutation(4).tolist()) for _ in range(24_000))
    assert uniform_counts(seen, math.factorial(4)) > ERROR


def test_permutations_start_over_when_words_run_out() -> None:
    calls = []

    def draw(count: int) -> NDArray[np.uint32]:
        calls.append(count)
        # The first words are all refused: 0 · bound has a lower half below 2³² mod 3.
        return np.zeros(count, np.uint32) if len(calls) == 1 else np.arange(count, dtype=np.uint32) << np.uint32(20)

    assert sorted(permutation(3, draw).tolist()) == [0, 1, 2]
    assert len(calls) == 2


def test_too_many_items_cannot_be_put_in_order() -> None:
    with pytest.raises(ValueError, match="at most"):
        seeded(0).permutation(2**27 + 1)


def test_derangements_are_uniform_and_move_everything() -> None:
    chance = seeded(7)
    seen = Counter(tuple(chance.derangement(4).tolist()) for _ in range(9_000))
    possible = {p for p in itertools.permutations(range(4)) if all(i != x for i, x in enumerate(p))}
    assert set(seen) == possible
    assert uniform_counts(seen, len(possible)) > ERROR
    with pytest.raises(ValueError, match="places"):
        chance.derangement(1)
