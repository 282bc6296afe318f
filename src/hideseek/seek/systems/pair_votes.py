"""The compiled loops of `signed_pairs`: guesses of signs and bytes, for every pair of neighbours."""

import numpy as np
from numpy.typing import NDArray

from hideseek.chance.compiled import compiled

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

BIN = 3e-6  # of a weight, in the histogram of votes
_CHANGE = 0.15  # of public images between neighbours, from which a pair tells a weight well
_TOLD = 0.02  # the same, from which it tells anything


@compiled(fastmath=True)
def vote(  # pragma: no cover (compiled)
    first: Array, second: Array, channel: Integers, steps: Array, one: Array, two: Array, mass: float,
    table: NDArray[np.uint8], sample: int,
) -> tuple[int, int]:  # fmt: skip
    """Let pairs vote for the weight of the first of two images; give the bin with most votes, and how many it has."""
    best, most, seen = 0, 0, 0
    last = int(mass / BIN)
    for i in range(len(one)):
        apart = one[i] - two[i]
        if abs(apart) < _CHANGE:
            continue
        seen += 1
        if seen > sample:
            break
        factor, base = 1 / (apart * BIN), mass * two[i]
        for which in range(4):
            value = first[i] - second[i] if which < 2 else first[i] + second[i]
            if which % 2:
                value = -value
            middle = (value - base) * factor
            farthest = steps[channel[i], steps.shape[1] - 1] * abs(factor)
            if middle + farthest < 1 or middle - farthest > last:
                continue
            for s in range(steps.shape[1]):
                place = middle - steps[channel[i], s] * factor
                if 1 <= place < last:
                    at = int(place)
                    if table[at] < 255:
                        table[at] += 1
                    if table[at] > most:
                        best, most = at, table[at]
    table[: last + 1] = 0
    return best, most


@compiled(fastmath=True)
def fitted(  # pragma: no cover (compiled)
    first: Array, second: Array, channel: Integers, steps: Array, one: Array, two: Array, mass: float,
    weight: float, reach: float, near: float,
) -> float:  # fmt: skip
    """Fit the weight to the pairs that it explains, within `near` and `reach` of the weight, by least squares."""
    above, below = 0.0, 0.0
    for i in range(len(one)):
        apart = one[i] - two[i]
        if abs(apart) < _TOLD:
            continue
        wanted = mass * two[i] + weight * apart
        allowed = near + reach * abs(apart)
        for which in range(4):
            value = first[i] - second[i] if which < 2 else first[i] + second[i]
            if which % 2:
                value = -value
            for s in range(steps.shape[1]):
                error = value - steps[channel[i], s] - wanted
                if abs(error) < allowed:
                    above += error * apart
                    below += apart * apart
    return weight + above / below if below > 0 else weight


@compiled(fastmath=True)
def count_exact(  # pragma: no cover (compiled)
    first: Array, second: Array, channel: Integers, steps: Array, differences: Array, weights: Array, near: float,
    clear: float, counts: Integers,
) -> None:  # fmt: skip
    """Count the pairs that weights explain exactly, for every image that changes there by more than `clear`."""
    for i in range(len(first)):
        wanted = 0.0
        for j in range(len(weights)):
            wanted += weights[j] * differences[j, i]
        for which in range(4):
            value = first[i] - second[i] if which < 2 else first[i] + second[i]
            if which % 2:
                value = -value
            for s in range(steps.shape[1]):
                if abs(value - steps[channel[i], s] - wanted) < near:
                    for j in range(len(weights)):
                        if abs(differences[j, i]) > clear:
                            counts[j] += 1
