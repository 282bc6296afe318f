"""Finding which public images are in a masked row by exact weights, which confirm them."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.seek.signals.public_sets import Found
from hideseek.seek.signals.soft_signs import soft_signs
from hideseek.seek.systems.exact_sets import exact_set
from hideseek.seek.systems.pair_votes import BIN
from hideseek.seek.systems.row_under_mask import ExactSet, Floats, RowUnderMask
from hideseek.seek.systems.signed_pairs import SURE, exact_pair, support

BLOCK = 256  # candidates whose pixels are in memory


def exact_single(under: RowUnderMask, places: Int[Tensor, " candidates"]) -> ExactSet | None:
    """Find the one public image, whose weight is known."""
    pairs, weights = under.pairs(), np.array([under.mass])
    for place, image in zip(places.tolist(), _each(under, places), strict=True):
        found = ExactSet([place], weights, support(pairs, pairs.of(image)[None], weights))
        if under.confirmed(found):
            return found
    return None


def exact_two(
    under: RowUnderMask, first: Int[Tensor, " candidates"], second: Int[Tensor, " candidates"]
) -> ExactSet | None:
    """Find two public images among likely pairs, the likeliest first."""
    pairs, mass, table = under.pairs(), under.mass, np.zeros(int(1 / BIN) + 2, np.uint8)
    ones = {place: pairs.of(under.images([place])[0]) for place in first.unique().tolist()}
    for place, other, image in zip(first.tolist(), second.tolist(), _each(under, second), strict=True):
        one, two = ones[place], pairs.of(image)
        exact = exact_pair(pairs, one, two, mass, table)
        if exact.support >= SURE:
            found = ExactSet([place, other], np.array([exact.weight, mass - exact.weight]), exact.support)
            if under.confirmed(found):
                return found
    return None


def exact_several(under: RowUnderMask, guesses: Found, chance: Randomness) -> ExactSet | None:
    """Find exact weights of three or more public images, near those of some guess."""
    pairs = under.pairs()
    known = guesses.sum(under.public)
    row = under.row.abs()[None]
    for guess, (places, weights) in enumerate(zip(guesses.places, guesses.weights.double(), strict=True)):
        signs, _ = soft_signs(row, known[guess : guess + 1])
        signed = (signs.sign() * row)[0]
        rest = (signed - known[guess]).flatten().double().numpy()
        start = (weights * (under.mass / weights.sum())).numpy()
        differences = np.stack([pairs.of(image) for image in under.images(places.tolist())])
        exact, sure = exact_set(pairs, differences, start, under.mass, signed.flatten().double().numpy(), rest, chance)
        found = ExactSet(places.tolist(), exact, sure)
        if under.confirmed(found):
            return found
    return None


def _each(under: RowUnderMask, places: Int[Tensor, " candidates"]) -> Iterator[Floats]:
    """Give public images, flat, some at a time in memory: most rows are confirmed by the first."""
    for some in places.split(BLOCK):
        yield from under.images(some.tolist())
