"""Which pair is in which row, and which images are in any: all rows together, by belief propagation.

Several pairs fit a row. But in a round every private image is the first of exactly one row and the second of exactly
one, a row's label says of which class its first and second are, and an image has one class. Messages between rows and
candidates weigh all of that (Yedidia, Freeman and Weiss 2003): a row tells a candidate the odds that it is the row's
first, and of each order; a candidate tells a row how likely it is not the first of any other row, is the second of
one, in every round, and all of one class, against being in no row at all.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from hideseek.progress import track
from hideseek.seek.systems.length_pairs import FittingPairs, Numbers, Places

DAMPING = 0.5  # of what is new in a message, as a logarithm
HALVINGS = 60
TINY, HUGE = 1e-200, 1e200
LARGEST = 300.0  # logarithm of odds
MISSED = 1e-4  # of rows, whose own pair is not among those that fit
SETTLED = 1e-4  # change of all messages at which they are


@dataclass(frozen=True)
class Rows:
    """What is known of rows besides the pairs that fit them."""

    classes: Places
    """m × 2: the class of the image that has each of the two weights."""
    round_of: Places
    others: Numbers
    """rounds × classes: slots that are first (or second) of rows which tell nothing."""
    sizes: Numbers
    """Private images of each class."""
    candidates: int


@dataclass(frozen=True)
class Beliefs:
    """What all rows together say."""

    log_odds: Numbers
    """Of every candidate, that it is in the rows."""
    rows: Places
    """Rows that any pair fits."""
    first: Places
    """The first image of each, by the likeliest pair."""
    second: Places
    chances: Numbers
    """How likely that pair is."""


class _Slot:
    """One side of all rows, their firsts or their seconds: who may stand there, and the messages about it."""

    def __init__(self, pairs: FittingPairs, images: Places, classes: Places, rows: Rows) -> None:
        keys = (2 * pairs.rows + pairs.orders) * rows.candidates + images
        known, self.entry = np.unique(keys, return_inverse=True)
        slot, self.image = known // rows.candidates, known % rows.candidates
        self.row, self.kind = slot // 2, classes[slot // 2, slot % 2]
        self.round = rows.round_of[self.row]
        rounds, kinds = rows.others.shape
        self.cell = (self.round * rows.candidates + self.image) * kinds + self.kind
        self.shape = (rounds, rows.candidates, kinds)
        scale = np.sqrt(rows.sizes / max(1.0, rows.sizes.sum()))
        self.base = ((rows.others / np.maximum(rows.sizes, 1.0) + MISSED) * scale)[:, None, :]
        self.told = np.full(len(known), 1.0)  # by candidates
        self.odds = np.zeros(len(known))  # by rows

    def listen(self, weights: Numbers, totals: Numbers) -> None:
        """Take what rows say: the odds that an image stands here, whatever it has said itself."""
        own = np.bincount(self.entry, weights, len(self.told))
        rest = np.maximum(totals[self.row] - own, 1e-12 * totals[self.row] + TINY)
        self.odds = np.clip(own / np.maximum(self.told, TINY) / rest, TINY, HUGE)

    def sums(self) -> Numbers:
        """Give, for every round, candidate and class, the odds that it stands here in some row."""
        size = int(np.prod(self.shape))
        found: Numbers = np.bincount(self.cell, self.odds, size).reshape(self.shape) + self.base + TINY
        return found

    def speak(self, sums: Numbers, powers: Numbers) -> float:
        """Tell rows what candidates say; give the largest change."""
        here, kinds = sums.reshape(-1)[self.cell], np.exp(np.clip(powers, -LARGEST, LARGEST))
        whole = kinds[self.image, self.kind]
        without = 1 + np.maximum(kinds.sum(1)[self.image] - whole * np.minimum(1.0, self.odds / here), 0.0)
        said = np.clip(whole / here / without, TINY, HUGE)
        change = np.log(said) - np.log(self.told)
        self.told = np.clip(self.told * np.exp(DAMPING * change), TINY, HUGE)
        return float(np.abs(change).max(initial=0.0))


def believed(pairs: FittingPairs, rows: Rows, sweeps: int) -> Beliefs:
    """Send messages until they settle, and say which candidates and pairs they point to."""
    first = _Slot(pairs, pairs.first, rows.classes, rows)
    second = _Slot(pairs, pairs.second, rows.classes[:, ::-1], rows)
    powers = np.zeros((rows.candidates, rows.others.shape[1]))
    weights: NDArray[np.float64] = pairs.likelihoods
    totals: Numbers = np.zeros(len(rows.classes))
    for _ in track(range(sweeps), "weighing pairs"):
        weights = pairs.likelihoods * first.told[first.entry] * second.told[second.entry]
        totals = np.bincount(pairs.rows, weights, len(rows.classes)).astype(np.float64)
        first.listen(weights, totals)
        second.listen(weights, totals)
        sums = first.sums(), second.sums()
        powers = (np.log(sums[0]) + np.log(sums[1])).sum(0)
        powers -= threshold(np.logaddexp.reduce(powers, 1), float(rows.sizes.sum()))
        change = max(side.speak(given, powers) for side, given in zip((first, second), sums, strict=True))
        if change < SETTLED:
            break
    log_odds = np.logaddexp.reduce(powers, 1)
    best, chances = _likeliest(pairs.rows, weights, totals)
    return Beliefs(log_odds, pairs.rows[best], pairs.first[best], pairs.second[best], chances)


def threshold(log_odds: Numbers, members: float) -> float:
    """Give h with Σ 1 / (1 + e^(h − l)) = members: how many are in the rows is known.

    Without it a common factor of all odds grows from sweep to sweep where rows say little, by the number of rounds.
    """
    wanted = min(members, 0.99 * len(log_odds))
    low, high = float(log_odds.min()) - LARGEST, float(log_odds.max()) + LARGEST
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if expit(log_odds - middle).sum() > wanted else (low, middle)
    return low


def _likeliest(rows: Places, weights: Numbers, totals: Numbers) -> tuple[Places, Numbers]:
    """Give the entry of largest weight of every row that has one, and its share."""
    order = np.lexsort((-weights, rows))
    best = order[np.flatnonzero(np.diff(rows[order], prepend=-1))]
    return best, weights[best] / np.maximum(totals[rows[best]], TINY)
