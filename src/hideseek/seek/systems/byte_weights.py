"""The weights of two images that a label shows only the sum of, from the row itself.

Differences of neighbouring pixels vote for them (`byte_votes`). Weights are float32, so few are left then; the right
ones explain the row to the bit.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hideseek.seek.systems.byte_equations import LOOSE, ROUNDING, Floats, row_solutions
from hideseek.seek.systems.byte_rounding import SAMPLE, explained
from hideseek.seek.systems.byte_votes import PEAKS, Unknown, closer, neighbour_differences, voted

FINE, REACH = 1e-8, 4e-7  # steps of a weight around what votes say, if float32 has them, and how far
BITS, CLIMBS = 3, 3  # last places that a weight may be off by, since labels are rounded, too, and how often
ROOM = 400  # solutions of a pixel, where weights are not exact yet
PROMISING = 0.7  # of a few pixels are explained, before more are looked at
CONFIRMED = 0.98  # of pixels that right weights explain to the bit


@dataclass(frozen=True)
class Split:
    """Weights, and the share of pixels that they explain to the bit."""

    weights: Floats
    explained: float


def split_weights(row: Floats, cases: Sequence[Unknown], scale: Floats, shift: Floats, *, masked: bool) -> Split:
    """Give the weights of a row, c × h × w, of which one of several cases holds; those that explain the row best.

    The peaks of all cases are tried in turn, the highest first, until one explains the row.
    """
    differences = neighbour_differences(row, scale, masked)
    peaks = [peak for case in cases for peak in voted(differences, case)]
    best = Split(np.array([cases[0].total / 2] * 2 + [*cases[0].others], np.float32), 0.0)
    for _, weight, case in sorted(peaks, key=lambda peak: -peak[0])[:PEAKS]:
        near = closer(differences, case, weight)
        best = max(best, _to_the_bit(row, near, case, scale, shift, masked), key=_explained)
        if best.explained >= CONFIRMED:
            break
    return best


def _to_the_bit(row: Floats, weight: float, case: Unknown, scale: Floats, shift: Floats, masked: bool) -> Split:
    """Search for the two float32 that explain most pixels of a sample to the bit."""
    every = row.reshape(len(row), -1)
    sample = np.ascontiguousarray(every[:, :: max(1, every.size // SAMPLE)])
    guess = np.array([weight, case.total - weight, *case.others], np.float32)
    largest = max(1.0, float(np.abs(row).max()), float(np.abs(shift).max()))
    slack = LOOSE * ROUNDING * largest + 128 * REACH * float(scale.max())
    found, _, _ = row_solutions(sample, guess, scale, shift, ROOM, masked=masked, tolerance=slack)

    def split(one: np.float32, two: np.float32) -> Split:
        weights = np.array([one, two, *case.others], np.float32)
        return Split(weights, explained(found, sample, weights, scale, shift, PROMISING))

    best = Split(guess, 0.0)
    pairs = ((one, two) for one in _outwards(weight) for two in _beside(np.float32(case.total - float(one))))
    for one, two in pairs:
        best = max(best, split(one, two), key=_explained)
        if best.explained >= CONFIRMED:
            return best
    for _ in range(CLIMBS):
        ones, twos = (_beside(each) for each in best.weights[:2])
        better = max((split(one, two) for one in ones for two in twos), key=_explained)
        if better.explained <= best.explained:
            break
        best = better
    return best


def _outwards(weight: float) -> list[np.float32]:
    """Give the float32 around a weight, the nearest first; where they are dense, some of them."""
    step = max(FINE, float(np.spacing(np.float32(weight))))
    changes = step * np.arange(-int(REACH / step), int(REACH / step) + 1)
    return [np.float32(weight + change) for change in sorted(changes, key=abs) if weight + change > 0]


def _explained(split: Split) -> float:
    return split.explained


def _beside(weight: np.float32) -> list[np.float32]:
    """Give the float32 around a weight, and itself."""
    every = [weight]
    for way in (np.float32(-np.inf), np.float32(np.inf)):
        each = weight
        for _ in range(BITS):
            each = np.nextafter(each, way)
            every.append(each)
    return every
