"""Votes for the weights of two images whose sum is known: neighbouring pixels differ by sums of small integers.

Pixels next to each other often differ by few bytes in all images, so the difference of a row's two pixels is
δ = Σ_j w_j d_j with small integers d_j. Where w₁ + w₂ = W is known, each guess of the integers gives
w₁ = (δ − W d₂ − Σ_{j>2} w_j d_j) / (d₁ − d₂): right guesses all agree, to a millionth, and wrong ones nowhere. Under
a mask δ is the difference or the sum of the absolute values.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hideseek.chance.compiled import compiled
from hideseek.seek.systems.byte_equations import Floats
from hideseek.seek.systems.byte_solutions import Array

STEP = 4  # bytes that neighbours differ by at most, in every image
SPREAD = 3.0  # bytes: the scale of differences, as a Cauchy law
BIN = 4e-6  # of the histogram of votes, about the rounding of a difference in bytes
PEAKS = 6  # that are looked at
NEAR, FITS = 1.2e-5, 3  # bytes that a difference may be off by; fits to those that are not


@dataclass(frozen=True)
class Unknown:
    """What is known of a row's weights: two of them sum to `total`, and the others."""

    total: float
    others: tuple[np.float32, ...] = ()
    between: tuple[float, float] | None = None
    """Of the lesser of the two, if anything is known of it."""


def voted(differences: Array, case: Unknown) -> Iterator[tuple[float, float, Unknown]]:
    """Give the weights that most differences vote for, with how far they stand out, in deviations of all votes."""
    low, high = (0.0, case.total / 2) if case.between is None else case.between
    votes = np.zeros(int((high - low) / BIN) + 2)
    steps = _steps(len(case.others))
    differences = _informative(differences, case)
    _vote(differences, steps, _commonness(steps), np.array(case.others, np.float64), case.total, low, votes)
    smooth = votes[:-1] + votes[1:]
    middle, deviation = float(smooth.mean()), float(smooth.std()) + 1e-9
    for _ in range(PEAKS):
        top = int(smooth.argmax())
        yield (float(smooth[top]) - middle) / deviation, low + (top + 1) * BIN, case
        smooth[max(0, top - 3) : top + 4] = 0


def _informative(differences: Array, case: Unknown) -> Array:
    """Leave out the differences that tell nothing: both images differ alike there, by W d₁ + Σ_{j>2} w_j d_j.

    They are many, where images are flat, and would all vote for the same wrong weights.
    """
    alike = _combinations(1 + len(case.others)) @ np.array([case.total, *case.others], np.float64)
    alike.sort()
    place = np.searchsorted(alike, differences).clip(1, len(alike) - 1)
    nearest = np.minimum(np.abs(differences - alike[place - 1]), np.abs(differences - alike[place]))
    told: Array = differences[nearest > NEAR]
    return told


def closer(differences: Array, case: Unknown, weight: float) -> float:
    """Fit a weight to the differences that it explains."""
    steps = _steps(len(case.others))
    for _ in range(FITS):
        weight = _fitted(differences, steps, np.array(case.others, np.float64), case.total, weight, NEAR)
    return weight


def neighbour_differences(row: Floats, scale: Floats, masked: bool) -> Array:
    """Give the differences, in bytes, of all pixels next to each other; under a mask, of either relative sign."""
    values = row.astype(np.float64) / scale.astype(np.float64)[:, None, None]
    if masked:
        values = np.abs(values)
    pairs = [(values[:, :, 1:], values[:, :, :-1]), (values[:, 1:], values[:, :-1])]
    differences = [(one - two).ravel() for one, two in pairs]
    if masked:
        differences += [(one + two).ravel() for one, two in pairs]
    every = np.concatenate(differences)
    return every[np.abs(every) <= STEP + NEAR]


def _steps(others: int) -> NDArray[np.int64]:
    """Give all small integers (d₁, d₂, …) with d₁ ≠ d₂."""
    every = _combinations(2 + others)
    chosen: NDArray[np.int64] = every[every[:, 0] != every[:, 1]]
    return chosen


def _combinations(count: int) -> NDArray[np.int64]:
    """Give all small integers (d₁, …)."""
    every = np.stack(np.meshgrid(*[np.arange(-STEP, STEP + 1)] * count, indexing="ij"), -1)
    return every.reshape(-1, count)


def _commonness(steps: NDArray[np.int64]) -> Array:
    """Tell how common such differences are, by a Cauchy law in each image."""
    common: Array = (1 / (1 + (steps / SPREAD) ** 2)).prod(1)
    return common


@compiled(fastmath=True)
def _vote(  # pragma: no cover (compiled)
    differences: Array, steps: NDArray[np.int64], common: Array, others: Array, total: float, low: float, votes: Array
) -> None:
    for which in range(len(steps)):
        one, two = steps[which, 0], steps[which, 1]
        known = total * two
        for j in range(len(others)):
            known += others[j] * steps[which, 2 + j]
        factor = 1 / ((one - two) * BIN)
        for i in range(len(differences)):
            place = (differences[i] - known) * factor - low / BIN
            if 0 <= place < len(votes):
                votes[int(place)] += common[which]


@compiled(fastmath=True)
def _fitted(  # pragma: no cover (compiled)
    differences: Array, steps: NDArray[np.int64], others: Array, total: float, weight: float, near: float
) -> float:
    """Fit the weight to the differences that it explains, by least squares."""
    above, below = 0.0, 0.0
    for which in range(len(steps)):
        apart = steps[which, 0] - steps[which, 1]
        value = total * steps[which, 1] + weight * apart
        for j in range(len(others)):
            value += others[j] * steps[which, 2 + j]
        for i in range(len(differences)):
            error = differences[i] - value
            if abs(error) < near:
                above += error * apart
                below += apart * apart
    return weight + above / below if below > 0 else weight
