"""Finding which public images are in a masked row by exact weights, which confirm them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.seek.signals.public_sets import Found
from hideseek.seek.systems.exact_sets import exact_set
from hideseek.seek.systems.pair_votes import BIN, Array
from hideseek.seek.systems.robust_weights import RobustFit, robust_weights
from hideseek.seek.systems.row_under_mask import ExactSet, Floats, RowUnderMask
from hideseek.seek.systems.signed_pairs import SURE, SignedPairs, exact_pair, exact_weight, support

BLOCK = 256  # candidates whose pixels are in memory


@dataclass(frozen=True)
class FittedSet:
    """Public images, how neighbours differ in them, and weights that are nearly right."""

    places: list[int]
    pairs: SignedPairs
    differences: Array
    fit: RobustFit

    @property
    def found(self) -> Found:
        """Give it as it is claimed where nothing is exact."""
        return Found(torch.tensor([self.places]), torch.from_numpy(self.fit.weights)[None].float())


def exact_single(under: RowUnderMask, places: Int[Tensor, " candidates"]) -> ExactSet | None:
    """Find the one public image; its weight is known, or neighbours vote for it."""
    pairs, mass, table = under.pairs(), under.mass, np.zeros(int(1 / BIN) + 2, np.uint8)
    for place, image in zip(places.tolist(), _each(under, places), strict=True):
        one = pairs.of(image)
        if mass is None:
            exact = exact_weight(pairs, one, table)
            found = ExactSet([place], np.array([exact.weight]), exact.support)
        else:
            found = ExactSet([place], np.array([mass]), support(pairs, one[None], np.array([mass])))
        if under.confirmed(found):
            return found
    return None


def exact_two(
    under: RowUnderMask, first: Int[Tensor, " candidates"], second: Int[Tensor, " candidates"]
) -> ExactSet | None:
    """Find two public images, whose weights have a known sum, among likely pairs, the likeliest first."""
    pairs, mass, table = under.pairs(), under.mass, np.zeros(int(1 / BIN) + 2, np.uint8)
    assert mass is not None  # noqa: S101 (the caller has looked)
    ones = {place: pairs.of(under.images([place])[0]) for place in first.unique().tolist()}
    for place, other, image in zip(first.tolist(), second.tolist(), _each(under, second), strict=True):
        one, two = ones[place], pairs.of(image)
        exact = exact_pair(pairs, one, two, mass, table)
        if exact.support >= SURE:
            found = ExactSet([place, other], np.array([exact.weight, mass - exact.weight]), exact.support)
            if under.confirmed(found):
                return found
    return None


def exact_several(under: RowUnderMask, fits: Sequence[FittedSet], chance: Randomness) -> ExactSet | None:
    """Find exact weights of public images, near those of some guess."""
    for each in fits:
        exact, sure = exact_set(each.pairs, each.differences, each.fit, under.mass, chance)
        found = ExactSet(each.places, exact, sure)
        if under.confirmed(found):
            return found
    return None


def fitted_sets(under: RowUnderMask, guesses: Found) -> list[FittedSet]:
    """Give weights of sets of public images that are nearly right, the set that leaves least first."""
    pairs, fits = under.pairs(), list[FittedSet]()
    for places, weights in zip(guesses.places.tolist(), guesses.weights.double(), strict=True):
        differences = np.stack([pairs.of(image) for image in under.images(places)])
        start = (weights if under.mass is None else weights * (under.mass / weights.sum())).numpy()
        fits.append(FittedSet(places, pairs, differences, robust_weights(pairs, differences, start, under.mass)))
    return sorted(fits, key=lambda each: each.fit.scale)


def _each(under: RowUnderMask, places: Int[Tensor, " candidates"]) -> Iterator[Floats]:
    """Give public images, flat, some at a time in memory: most rows are confirmed by the first."""
    for some in places.split(BLOCK):
        yield from under.images(some.tolist())
