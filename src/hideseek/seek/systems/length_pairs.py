"""Which two candidates leave noise of the known length in a row."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hideseek.chance.compiled import compiled
from hideseek.progress import track

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]

WITHIN = 4.0  # deviations of rounding
MOST = 1 << 20  # pairs of a row: more say nothing of it


@dataclass(frozen=True)
class KnownRow:
    """A row whose two weights are known, but not which is the first image's."""

    number: int
    weights: tuple[float, float]
    classes: tuple[int, int]


@dataclass(frozen=True)
class FittingPairs:
    """Pairs that fit: row by row, with the place of the first image's weight, both images, and how well they fit."""

    rows: Places
    orders: Places
    first: Places
    second: Places
    likelihoods: Numbers
    """Densities of the length, in deviations of rounding."""


@dataclass(frozen=True)
class LengthPairs:
    """Tries all pairs of candidates in rows: ‖y − w₁a − w₂b‖ = w₂r for the right one.

    Everything is in inner products, in double precision: ‖y‖² + w₁²‖a‖² + w₂²‖b‖² − 2w₁⟨y,a⟩ − 2w₂⟨y,b⟩ + 2w₁w₂⟨a,b⟩.
    """

    products: Numbers
    """⟨a, b⟩ of candidates."""
    with_rows: Numbers
    """⟨y, a⟩ of rows and candidates."""
    squares: Numbers
    """‖y‖² of rows."""
    radius: float
    rounding: float
    """The deviation of a length over itself that numbers of rows leave."""

    def fitting(self, rows: list[KnownRow]) -> FittingPairs:
        """Find the pairs that fit each row; none of a row that too many fit, or for which they cannot be told."""
        found = [part for row in track(rows, "trying pairs") for part in self._of_row(row)]
        parts = [np.concatenate(each) for each in zip(*found, strict=True)] or [np.empty(0)] * 5
        rows_of, orders, first, second = (part.astype(np.int64) for part in parts[:4])
        return FittingPairs(rows_of, orders, first, second, parts[4])

    def _of_row(self, row: KnownRow) -> Iterator[tuple[Places, Places, Places, Places, Numbers]]:
        sizes, given = self.products.diagonal(), self.with_rows[row.number]
        found = []
        for order in (0, 1):
            one, two = row.weights[order], row.weights[1 - order]
            length = float(np.float32(two) * np.float32(self.radius))  # as float32 multiplies them
            if not 0 < length < math.inf:
                continue
            square = float(self.squares[row.number])
            error = 2 * length**2 * self.rounding * max(1.0, math.sqrt(square) / length)  # of a square
            firsts = one**2 * sizes - 2 * one * given
            seconds = two**2 * sizes - 2 * two * given + square - length**2
            places, misses = fits(firsts, seconds, 2 * one * two, self.products, WITHIN * error, MOST)
            if len(misses) > MOST:
                return
            likelihoods = np.exp(-0.5 * np.square(misses / error)) / error
            count = len(places)
            found.append((np.full(count, row.number), np.full(count, order), places[:, 0], places[:, 1], likelihoods))
        yield from found


@compiled()
def fits(
    firsts: Numbers, seconds: Numbers, both: float, products: Numbers, within: float, most: int
) -> tuple[Places, Numbers]:  # pragma: no cover (compiled)
    """Find a ≠ b with |firsts_a + seconds_b + both · products_ab| ≤ within; one more than `most` at most."""
    count = len(firsts)
    room = 1024
    places, misses = np.empty((room, 2), np.int64), np.empty(room)
    found = 0
    for a in range(count):
        base, line = firsts[a], products[a]
        hits = 0
        for b in range(count):  # without a branch: few lines have any
            hits += abs(base + seconds[b] + both * line[b]) <= within
        if not hits:
            continue
        for b in range(count):
            missed = base + seconds[b] + both * line[b]
            if -within <= missed <= within and a != b:
                if found == room:
                    room *= 2
                    more, other = np.empty((room, 2), np.int64), np.empty(room)
                    more[:found], other[:found] = places, misses
                    places, misses = more, other
                places[found, 0], places[found, 1], misses[found] = a, b, missed
                found += 1
                if found > most:
                    return places[:found], misses[:found]
    return places[:found], misses[:found]
