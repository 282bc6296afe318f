"""Exact weights of public images in a masked row, from neighbours that differ by few bytes in the private images.

For two pixels next to each other the row's difference, of either relative sign under a mask, is
±|x̃|_a ± |x̃|_b = Σ_j μ_j d_j + s Σ_i λ_i b_i: d_j is the difference of public image j, b_i that of private image i in
bytes, s the scale of pixels. Private images often change by −1, 0 or 1 bytes, and the label gives λ, so Σ_j μ_j d_j is
one of a few numbers, to the last bit. Where the sum of two weights is known, every guess of signs and bytes gives one
of them: right guesses all agree to a millionth, and wrong ones nowhere.

The same guesses judge any other weights (`support`): right ones explain dozens of pairs exactly, wrong ones none.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hideseek.seek.systems.pair_votes import BIN, Array, Integers, count_exact, fitted, vote

NEAR = 4 * 2.0**-24  # of the largest value of a row: how far sums in float32 are off
SURE = 12  # pairs that are explained exactly: of a billion wrong weights one has as many
PEAK, FEW = 6, 5  # votes in one bin, of a sample of pairs or of all, for a weight to be looked at
SAMPLE = 1500  # pairs that vote
CLEAR = 3.5  # bytes that an image must change by to be confirmed: of flat images, others explain as much
_STRIDE = 7919  # a prime: the first pairs are a sample of all
_ROUNDS = 3  # of fitting a weight to the pairs that it explains


@dataclass(frozen=True)
class SignedPairs:
    """Neighbouring pixels of one row: places of both, absolute values, and what private images may differ by."""

    first: Integers
    second: Integers
    one: Array
    two: Array
    steps: Array  # pairs' channel × steps
    channel: Integers
    near: float
    byte: float  # the difference of two pixels that are one byte apart

    def of(self, image: NDArray[np.float32]) -> Array:
        """Give the differences of an image, flat, in the same places."""
        return image[self.first].astype(np.float64) - image[self.second]


def byte_steps(weights: Array, scale: Array, largest: int = 1) -> Array:
    """Give s Σ_i λ_i b_i for all bytes b_i of −largest … largest, for every channel.

    >>> byte_steps(np.array([0.25]), np.array([1.0])).tolist()
    [[-0.25, 0.0, 0.25]]
    """
    axes = np.meshgrid(*[np.arange(-largest, largest + 1)] * len(weights), indexing="ij")
    sums = sum((weight * axis.ravel() for weight, axis in zip(weights, axes, strict=True)), np.zeros(1))
    steps: Array = np.multiply.outer(scale, np.unique(sums))
    return steps


def signed_pairs(row: NDArray[np.float32], steps: Array, byte: float) -> SignedPairs:
    """Give all pairs of a row, c × h × w, in an order in which those next to each other are far apart."""
    places = np.arange(row.size).reshape(row.shape)
    first = np.concatenate([places[:, :, 1:].ravel(), places[:, 1:].ravel()])
    second = np.concatenate([places[:, :, :-1].ravel(), places[:, :-1].ravel()])
    order = np.arange(len(first)) * _STRIDE % len(first)
    first, second = first[order], second[order]
    values = np.abs(row.astype(np.float64)).ravel()
    channel = first // (row.shape[1] * row.shape[2])
    near = NEAR * max(1.0, float(values.max(initial=0.0)))
    return SignedPairs(first, second, values[first], values[second], np.ascontiguousarray(steps), channel, near, byte)


@dataclass(frozen=True)
class ExactPair:
    """The weight of the first of two images, and how many pairs it explains exactly."""

    weight: float
    support: int


def exact_pair(pairs: SignedPairs, one: Array, two: Array, mass: float, table: NDArray[np.uint8]) -> ExactPair:
    """Find the weight of the first of two images, whose differences are given and whose weights sum to `mass`.

    `table` is room for the histogram, of zeros, at least mass / BIN + 2 long; it is left so.
    """
    arguments = (pairs.one, pairs.two, pairs.channel, pairs.steps, one, two, mass)
    place, votes = vote(*arguments, table, min(SAMPLE, len(one)))
    if votes < PEAK:
        return ExactPair(0.0, 0)
    weight = (place + 0.5) * BIN
    reach = 1.5 * BIN
    for _ in range(_ROUNDS):
        weight = fitted(*arguments, weight, reach, pairs.near)
        reach = 0.0
    return ExactPair(weight, support(pairs, np.stack([one, two]), np.array([weight, mass - weight])))


def exact_weight(pairs: SignedPairs, one: Array, table: NDArray[np.uint8]) -> ExactPair:
    """Find the weight of a single image where nothing tells it: it is found beside an image that has none.

    All pairs vote, since few are flat in all private images, and fewer votes are looked at.
    """
    nothing = np.zeros_like(one)
    arguments = (pairs.one, pairs.two, pairs.channel, pairs.steps, one, nothing, 1.0)
    place, votes = vote(*arguments, table, len(one))
    if votes < FEW:
        return ExactPair(0.0, 0)
    weight = fitted(*arguments, (place + 0.5) * BIN, 1.5 * BIN, pairs.near)
    for _ in range(_ROUNDS - 1):
        weight = fitted(*arguments, weight, 0.0, pairs.near)
    return ExactPair(weight, support(pairs, one[None], np.array([weight])))


def support(pairs: SignedPairs, differences: Array, weights: Array) -> int:
    """Count the pairs that are explained exactly by Σ_j μ_j d_j and where image j changes, for the image with fewest.

    A wrong image that is flat where the right one is flat too would have the support of the others, else.
    """
    counts = np.zeros(len(weights), np.int64)
    arguments = (pairs.one, pairs.two, pairs.channel, pairs.steps)
    count_exact(*arguments, differences, np.asarray(weights, np.float64), pairs.near, CLEAR * pairs.byte, counts)
    return int(counts.min())
