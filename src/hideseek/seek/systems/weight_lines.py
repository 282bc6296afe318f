"""The compiled loops of `exact_sets`: lines of weights, and votes for a place on them.

u − 1 equations in u weights leave a line, w₁ … w_{u−1} = x − y w_u. Every other equation that holds too, a·w = b, has
one place on it: w_u = (b − a·x) / (a_u − a·y). Equations that hold to the last bit agree on that place.
"""

import numpy as np

from hideseek.chance.compiled import compiled
from hideseek.seek.systems.pair_votes import Array, Integers

VOTERS = 300  # the smoothest pairs, which vote for a place
VOTES = 3  # for one place, for all judges to look at it
BIN = 1e-5  # of a weight, in the histogram of votes
_TOLD = 0.05  # least change by which a pair tells the last weight
_SOLVABLE = 1e-4  # least pivot of a system


@compiled(fastmath=True)
def consensus(  # pragma: no cover (compiled)
    targets: Array, seen: Array, drawn: Integers, guess: Array, mass: float, around: float, near: float
) -> tuple[Array, int]:
    """Give the weights, `around` a guess, that explain most pairs to `near`, and how many; pairs × weights are given.

    `drawn` are the pairs that lines are made of; weights are positive, and sum to `mass` at most.
    """
    last = seen.shape[1] - 1
    best, most = guess.copy(), 0
    system, weights = np.empty((last, last + 2)), guess.copy()
    table = np.zeros(int(2 * around / BIN) + 2, np.uint8)
    for t in range(len(drawn)):
        for a in range(last):
            for b in range(last + 1):
                system[a, b] = seen[drawn[t, a], b]
            system[a, last + 1] = targets[drawn[t, a]]
        if not _solved(system):
            continue
        low, high = _between(system, guess, mass, around)
        if low >= high:
            continue
        place, votes = -1, 0
        for turn in range(2):  # votes, then the mean of those that agree; and the table is emptied
            above, below = 0.0, 0.0
            for i in range(min(VOTERS, len(targets))):
                slope, value = seen[i, last], targets[i]
                for a in range(last):
                    slope -= seen[i, a] * system[a, last]
                    value -= seen[i, a] * system[a, last + 1]
                if abs(slope) < _TOLD or not low * abs(slope) < value * np.sign(slope) < high * abs(slope):
                    continue
                at = int((value / slope - low) / BIN)
                if turn == 0:
                    if table[at] < 255:
                        table[at] += 1
                    if table[at] > votes:
                        place, votes = at, table[at]
                else:
                    table[at] = 0
                    if at == place:
                        above += value * slope
                        below += slope * slope
        if votes < VOTES:
            continue
        weights[last] = above / below
        total = weights[last]
        for a in range(last):
            weights[a] = system[a, last + 1] - weights[last] * system[a, last]
            total += weights[a]
        if weights.min() <= 0 or total > mass:
            continue
        count = _agreeing(targets, seen, weights, near)
        if count > most:
            most = count
            best[:] = weights
    return best, most


@compiled(fastmath=True)
def _between(system: Array, guess: Array, mass: float, around: float) -> tuple[float, float]:  # pragma: no cover
    """Give the part of a line where every weight is around its guess, by the last weight."""
    last = len(system)
    low, high = max(0.0, guess[last] - around), min(mass, guess[last] + around)
    for a in range(last):
        slope, middle = system[a, last], system[a, last + 1] - guess[a]
        if abs(slope) < _SOLVABLE:
            if abs(middle) > around:
                high = low
            continue
        ends = (middle - around) / slope, (middle + around) / slope
        low, high = max(low, min(ends)), min(high, max(ends))
    return low, high


@compiled(fastmath=True)
def _agreeing(targets: Array, seen: Array, weights: Array, near: float) -> int:  # pragma: no cover (compiled)
    """Count the pairs that weights explain."""
    count = 0
    for i in range(len(targets)):
        error = targets[i]
        for a in range(len(weights)):
            error -= weights[a] * seen[i, a]
        if abs(error) < near:
            count += 1
    return count


@compiled(fastmath=True)
def _solved(system: Array) -> bool:  # pragma: no cover (compiled)
    """Solve a square system for the two columns beside it, in their place; False where it is singular."""
    count, columns = system.shape
    for a in range(count):
        pivot = a
        for b in range(a + 1, count):
            if abs(system[b, a]) > abs(system[pivot, a]):
                pivot = b
        if abs(system[pivot, a]) < _SOLVABLE:
            return False
        for c in range(a, columns):
            system[a, c], system[pivot, c] = system[pivot, c], system[a, c]
        for c in range(columns - 1, a - 1, -1):
            system[a, c] /= system[a, a]
        for b in range(count):
            if b != a:
                factor = system[b, a]
                for c in range(a, columns):
                    system[b, c] -= factor * system[a, c]
    return True
