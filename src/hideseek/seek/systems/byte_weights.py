"""The weights of two images that a label shows only the sum of, from the row itself.

Pixels next to each other often differ by few bytes in all images, so the difference of a row's two pixels is
δ = Σ_j w_j d_j with small integers d_j. Where w₁ + w₂ = W is known, each guess of the integers gives
w₁ = (δ − W d₂ − Σ_{j>2} w_j d_j) / (d₁ − d₂): right guesses all agree, to a millionth, and wrong ones nowhere. Under
a mask δ is the difference or the sum of the absolute values. Weights are float32, so few are left then; the right ones
explain the row to the bit.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hideseek.chance.compiled import compiled
from hideseek.seek.systems.byte_equations import Floats, row_solutions
from hideseek.seek.systems.byte_rounding import SAMPLE, explained
from hideseek.seek.systems.byte_solutions import Array

STEP = 4  # bytes that neighbours differ by at most, in every image
SPREAD = 3.0  # bytes: the scale of differences, as a Cauchy law
BIN = 4e-6  # of the histogram of votes, about the rounding of a difference in bytes
PEAKS = 6  # that are looked at
NEAR = 1.2e-5  # bytes that a difference may be off by
FINE, REACH = 3e-8, 4e-7  # steps of a weight around what votes say, and how far
BITS, CLIMBS = 4, 3  # last places that either weight is changed by, at once, and how often
ROOM = 160  # solutions of a pixel, where weights are not exact yet
CONFIRMED = 0.98  # of pixels that right weights explain to the bit
ROUNDINGS = 4 * 2.0**-24


@dataclass(frozen=True)
class Split:
    """Two weights, and the share of pixels that they explain to the bit."""

    weights: tuple[np.float32, np.float32]
    explained: float


def split_weight(
    row: Floats,
    total: float,
    others: Floats,
    scale: Floats,
    shift: Floats,
    *,
    masked: bool,
    between: tuple[float, float] | None = None,
) -> Split:
    """Give the weights of two images, which sum to `total`, beside `others`, whose weights are known.

    `between` is what is known of the lesser weight, if anything is.
    """
    low, high = (0.0, total / 2) if between is None else between
    differences = neighbour_differences(row, scale, masked)
    votes = np.zeros(int((high - low) / BIN) + 2)
    steps = _steps(len(others))
    _vote(differences, steps, _commonness(steps), others.astype(np.float64), total, low, votes)
    smooth = votes[:-1] + votes[1:]
    best = Split((np.float32(total / 2), np.float32(total / 2)), 0.0)
    for _ in range(PEAKS):
        top = int(smooth.argmax())
        weight = low + (top + 1) * BIN
        for _ in range(3):
            weight = _fitted(differences, steps, others.astype(np.float64), total, weight, NEAR)
        found = _to_the_bit(row, weight, total, others, scale, shift, masked)
        best = max(best, found, key=_explained)
        if best.explained >= CONFIRMED:
            break
        smooth[max(0, top - 3) : top + 4] = 0
    return best


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
    every = np.stack(np.meshgrid(*[np.arange(-STEP, STEP + 1)] * (2 + others), indexing="ij"), -1)
    flat = every.reshape(-1, 2 + others)
    chosen: NDArray[np.int64] = flat[flat[:, 0] != flat[:, 1]]
    return chosen


def _commonness(steps: NDArray[np.int64]) -> Array:
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


def _to_the_bit(
    row: Floats, weight: float, total: float, others: Floats, scale: Floats, shift: Floats, masked: bool
) -> Split:
    """Search for the two float32 that explain most pixels of a sample to the bit."""
    every = row.reshape(len(row), -1)
    sample = np.ascontiguousarray(every[:, :: max(1, every.size // SAMPLE)])
    guess = np.array([weight, total - weight, *others])
    slack = ROUNDINGS * max(1.0, float(np.abs(row).max()), float(np.abs(shift).max())) + 128 * REACH * float(scale.max())
    found, _, _ = row_solutions(sample, guess.astype(np.float32), scale, shift, ROOM, masked=masked, tolerance=slack)

    def split(one: np.float32, two: np.float32) -> Split:
        weights = np.array([one, two, *others], np.float32)
        return Split((one, two), explained(found, sample, weights, scale, shift))

    around = np.arange(weight - REACH, weight + REACH, FINE)
    best = max((split(np.float32(one), np.float32(total - one)) for one in around), key=_explained)
    for _ in range(CLIMBS):
        if best.explained >= CONFIRMED:
            break
        ones, twos = (_beside(each) for each in best.weights)
        better = max((split(one, two) for one in ones for two in twos), key=_explained)
        if better.explained <= best.explained:
            break
        best = better
    return best


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
