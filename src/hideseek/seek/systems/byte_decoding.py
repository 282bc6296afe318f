"""The images of one row, where they are bytes and their weights are known: every pixel is a small integer equation."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hideseek.seek.systems.byte_equations import row_solutions
from hideseek.seek.systems.byte_errors import fitted_errors
from hideseek.seek.systems.byte_graphs import channel_beliefs, colour_beliefs, combine
from hideseek.seek.systems.byte_prior import BytePrior, adapted, of_photographs
from hideseek.seek.systems.byte_rounding import exact_solutions
from hideseek.seek.systems.byte_solutions import Array, Bytes, Solutions, expected_solutions

ROOM, COLOURS = 96, 64  # solutions of a channel's pixel, and products of them, that are compared
EXACT = 0.98  # of pixels have a solution to the bit, where the way of adding is known
CHANCE = 0.9  # of pixels may have a solution by chance, for all of them to mean something
WIDENED = (2.0, 1.0)  # times the deviation that was fitted, in each round of fitting and telling apart
SURE = 0.98  # belief in the likeliest solution of a pixel, on average, from which an image is taken for decoded
TIGHT = 4.0  # deviations of errors that solutions may have

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class DecodedRow:
    """The images of a row, in the order of the weights given."""

    images: Floats  # k × c × h × w, bytes; where no solution is likelier than all others together, their mean
    belief: float  # in the likeliest solution of a pixel, on average
    explained: float  # the share of pixels that have a solution: to the bit where `exact`, else within the rounding
    exact: bool
    by_chance: float  # the share of pixels that would have a solution, with weights that are wrong
    solutions: float  # of a channel's pixel, on average, before neighbours are asked

    @property
    def sure(self) -> bool:
        """Tell whether the attacker can be sure by himself: weights are right, and neighbours left one solution."""
        return self.explained > EXACT and self.by_chance < CHANCE and self.belief > SURE


def decode_row(
    row: Floats,
    weights: Floats,
    scale: Floats,
    shift: Floats,
    known: Array | None = None,
    *,
    masked: bool = False,
    prior: BytePrior | None = None,
    tolerance: float | None = None,
) -> DecodedRow:
    """Decode x̃ = σ ∘ (m + Σ_j w_j (s b_j + t)), c × h × w, for the bytes b_j; σ is ±1 by pixel where `masked`.

    `scale` s and `shift` t have an entry for each channel. Where all but the images is known, solutions must be right
    to the bit. `known` is m, what is known to be in the row beside the images, before the mask. It should be right to
    about 1e-6 where two images are unknown (at 1e-5 neighbours still tell solutions apart), to 1e-7 where three are;
    `tolerance`, in the row's units, is how wrong row, weights and m may be together, by default the rounding of sums
    in float32. Within it all solutions are believed alike at first; where neighbours tell them apart, the weights and
    the offset are fitted again, which leaves the rounding of the row alone; then errors count.
    """
    weights, scale, shift = (each.astype(np.float32) for each in (weights, scale, shift))
    flat = np.ascontiguousarray(row, np.float32).reshape(len(row), -1)
    found, off, halves = row_solutions(
        flat, weights, scale, shift, ROOM, known=known, masked=masked, tolerance=tolerance
    )
    prior = of_photographs(len(row)) if prior is None else prior
    share, exact = float((found.counts > 0).mean()), False
    if known is None:
        right, explained = exact_solutions(found, flat, weights, scale, shift, halves=halves)
        exact = explained > EXACT
        found, share = (right, explained) if exact else (found, share)
    images, belief, count = _told_apart(found, row.shape, prior, None if exact or halves else off)
    wrong = max(0.0, count - 1) if exact else expected_solutions(weights, float(off.mean()), 1 + masked)
    return DecodedRow(images, belief, share, exact, 1 - math.exp(-wrong), count)


def _told_apart(
    found: Solutions, shape: tuple[int, ...], prior: BytePrior, off: Array | None
) -> tuple[Floats, float, float]:
    """Tell solutions apart by channel, in rounds between which errors and priors are fitted, then by colour."""
    channels, height, width = shape
    k, count = found.values.shape[2], float(found.counts.mean())
    priors = [prior] * k
    beliefs = np.where(found.there, 0.0, -np.inf)
    for widened in WIDENED:
        if off is None:  # errors say nothing more: solutions are right to the bit, or the row is rounded coarsely
            errors, deviation = np.zeros_like(found.errors), np.ones(channels)
        else:
            errors, deviation = fitted_errors(found, beliefs, channels, off)
        kept, likelihoods = _near(found, errors, widened * np.repeat(deviation, height * width))
        told = channel_beliefs(kept.values, likelihoods, kept.counts, (channels, height, width), priors)
        beliefs = np.full(found.errors.shape, -np.inf)
        np.put_along_axis(beliefs, kept.places, told, 1)
        likeliest = kept.values[np.arange(len(told)), told.argmax(1)].T.reshape(k, *shape)
        priors = [adapted(prior, image) for image in likeliest.astype(np.float32)]
    colours, weights, counts = combine(kept.values, told, likelihoods, kept.counts, channels, COLOURS)
    believed = np.exp(colour_beliefs(colours, weights, counts, (height, width), priors))
    images, belief = _answer(colours, np.nan_to_num(believed), prior)
    return images.reshape(k, *shape), belief, count


@dataclass(frozen=True)
class _Kept:
    """Some of the solutions of each pixel, and their places among all of them."""

    values: Bytes
    counts: NDArray[np.int64]
    places: NDArray[np.int64]


def _near(found: Solutions, errors: Array, deviation: Array) -> tuple[_Kept, Array]:
    """Keep solutions whose error is that of rounding, or all where none is; and give their likelihoods."""
    size = np.where(found.there, np.abs(errors) / deviation[:, None], np.inf)
    near = size <= TIGHT
    near |= found.there & ~near.any(1, keepdims=True)
    size = np.where(near, size, np.inf)
    counts = near.sum(1)
    places = np.argsort(size, axis=1, kind="stable")[:, : max(1, int(counts.max()))]
    size = np.take_along_axis(size, places, 1)
    likelihoods = np.where(np.isfinite(size), -(np.minimum(size, TIGHT) ** 2) / 2, -np.inf)
    return _Kept(np.take_along_axis(found.values, places[:, :, None], 1), counts, places), likelihoods


def _answer(colours: Floats, believed: Array, prior: BytePrior) -> tuple[Floats, float]:
    """Give the likeliest solution of each pixel, k × c × pixels, or the mean where none has half of the belief."""
    best, place = believed.argmax(1), np.arange(len(believed))
    belief = believed[place, best]
    mean = np.einsum("pn,pnkc->pkc", believed, colours)
    mean[belief == 0] = prior.mean  # no solution: all that is known is what pictures are like
    chosen = np.where((belief > 0.5)[:, None, None], colours[place, best], mean)
    return chosen.transpose(1, 2, 0).astype(np.float32), float(belief.mean())
