"""Solutions that are right to the last bit: the row is computed again from bytes, as float32 rounds it.

A sum in float32 is rounded after every step, in the order of the images: the very number that a row has is the result
of few solutions, where all sums within the rounding would be many. The attacker does not know the order, or whether
products are rounded before they are added; of all ways, the one that explains every pixel is the right one.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from hideseek.chance.compiled import compiled
from hideseek.seek.systems.byte_solutions import Bytes, Solutions

SAMPLE = 400  # pixels that ways are told apart by
EACH = 5  # of which one pixel is looked at first
LIKELY = 0.95  # of them are explained by the right way

Floats = NDArray[np.float32]


class Adding(IntEnum):
    """How Σ_j w_j (s b_j + t) is added; fused: a product is added without being rounded first."""

    FACTORS_FUSED = 0
    """One offset, then b_j times w_j s, fused: hideseek's own."""
    FACTORS = 1
    PIXELS_FUSED = 2
    """Pixels s b_j + t first, then their sum, both fused."""
    FUSED_PIXELS = 3
    """The same, where the sum is not fused."""
    PIXELS = 4
    DOUBLE = 5
    """All in double precision, rounded once."""


@dataclass(frozen=True)
class Way:
    """A way to add the images of a row: how, and in what order."""

    adding: Adding
    order: tuple[int, ...]


def ways(k: int) -> Iterator[Way]:
    """Give all ways for k images, hideseek's own first."""
    return (Way(adding, order) for adding in Adding for order in permutations(range(k)))


def exact_solutions(
    found: Solutions, row: Floats, weights: Floats, scale: Floats, shift: Floats, *, halves: bool
) -> tuple[Solutions, float]:
    """Give the solutions that are right to the bit, and for what share of pixels there is one.

    The row is c × pixels, and so are the solutions; `halves` says that it was rounded to float16 afterwards.
    Ways are told apart by a sample of the pixels.
    """
    sample = np.linspace(0, len(found.counts) - 1, SAMPLE).astype(np.int64)
    best, most = None, 0.0
    for way in ways(len(weights)):
        share = float(_explained(found, sample, way, row, weights, scale, shift, halves).any(1).mean())
        if share > most:
            best, most = way, share
        if most > LIKELY:
            break
    if best is None:
        return found, 0.0
    right = _explained(found, np.arange(len(found.counts)), best, row, weights, scale, shift, halves)
    return found.some(right), float(right.any(1).mean())


def explained(
    found: Solutions, row: Floats, weights: Floats, scale: Floats, shift: Floats, promising: float = 0.0
) -> float:
    """Give the share of pixels that hideseek's own way explains, in whatever order does best.

    Where it is below `promising` in a few pixels, no more are looked at.
    """
    every = np.arange(len(found.counts))
    best = 0.0
    for order in permutations(range(len(weights))):
        way = Way(Adding.FACTORS_FUSED, order)
        share = float(_explained(found, every[::EACH], way, row, weights, scale, shift, False).any(1).mean())
        if share >= promising:
            share = float(_explained(found, every, way, row, weights, scale, shift, False).any(1).mean())
        best = max(best, share)
    return best


def _explained(
    found: Solutions,
    nodes: NDArray[np.int64],
    way: Way,
    row: Floats,
    weights: Floats,
    scale: Floats,
    shift: Floats,
    halves: bool,
) -> NDArray[np.bool_]:
    right = np.zeros((len(nodes), found.values.shape[1]), np.bool_)
    given = (found.values, found.sides, found.counts, nodes, row.ravel(), row.shape[1])
    _match(*given, weights, scale, shift, np.array(way.order), int(way.adding), halves, right)
    return right


@compiled()
def _match(  # pragma: no cover (compiled)
    values: Bytes,
    sides: NDArray[np.int8],
    counts: NDArray[np.int64],
    nodes: NDArray[np.int64],
    row: Floats,
    pixels: int,
    weights: Floats,
    scale: Floats,
    shift: Floats,
    order: NDArray[np.int64],
    adding: int,
    halves: bool,
    right: NDArray[np.bool_],
) -> None:
    """Compare what solutions come to with the row: products of float32 are exact in double precision."""
    k = len(weights)
    factors, offset = np.empty(k, np.float32), np.float32(0)
    by_factor, fused = adding <= Adding.FACTORS, adding in (Adding.FACTORS_FUSED, Adding.PIXELS_FUSED)
    fused_pixels = adding in (Adding.PIXELS_FUSED, Adding.FUSED_PIXELS)
    channel = -1
    for place in range(len(nodes)):
        node = nodes[place]
        if node // pixels != channel:
            channel, offset = node // pixels, np.float32(0)
            for j in range(k):
                factors[j] = np.float32(weights[j] * scale[channel]) if by_factor else weights[j]
                if by_factor:
                    offset = _added(offset, weights[order[j]], shift[channel], fused)
        wanted = row[node]
        for number in range(counts[node]):
            total, wide = offset, 0.0
            for i in range(k):
                j = order[i]
                value = np.float32(values[node, number, j])
                if adding == Adding.DOUBLE:
                    wide += np.float64(weights[j]) * (np.float64(scale[channel]) * value + np.float64(shift[channel]))
                    continue
                if not by_factor:
                    value = _added(shift[channel], scale[channel], value, fused_pixels)
                total = _added(total, factors[j], value, fused)
            if adding == Adding.DOUBLE:
                total = np.float32(wide)
            if halves:
                total = _half(total)
            right[place, number] = total == (wanted if sides[node, number] == 0 else -wanted)


@compiled(inline="always")
def _added(total: np.float32, one: np.float32, two: np.float32, fused: bool) -> np.float32:  # pragma: no cover
    """Give total + one · two, in float32."""
    product = np.float64(one) * np.float64(two)
    if not fused:
        product = np.float64(np.float32(product))
    return np.float32(np.float64(total) + product)


@compiled(inline="always")
def _half(value: np.float32) -> np.float32:  # pragma: no cover (compiled)
    """Round to the eleven bits of a float16."""
    part, power = math.frexp(np.float64(value))
    return np.float32(math.ldexp(np.rint(math.ldexp(part, 11)), power - 11))
