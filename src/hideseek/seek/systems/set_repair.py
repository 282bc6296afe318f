"""Correcting a set of public images, one at a time: what was found early was found with the least knowledge."""

from dataclasses import replace

import numpy as np
import torch

from hideseek.seek.signals.masked_pursuit import MaskedPursuit
from hideseek.seek.signals.public_sets import Found
from hideseek.seek.systems.exact_unmasking import FittedSet, fitted_sets
from hideseek.seek.systems.robust_weights import robust_weights
from hideseek.seek.systems.row_under_mask import RowUnderMask

CANDIDATES = 60  # for the place of each image
ROUNDS = 3  # of correcting one image
FINALISTS = 4  # that are fitted in full
SCREENED = 2000  # pairs of neighbours that choose them
SCREENING = (1.0,) * 5  # scales of the steps of a fit to them
_LESS = 0.99  # of the error that another set must leave, at most


def repaired(pursuit: MaskedPursuit, under: RowUnderMask, fits: list[FittedSet]) -> list[FittedSet]:
    """Leave out each image of the best set in turn, search for what fits in its place, and keep what leaves less."""
    for _ in range(ROUNDS):
        better = _replaced(pursuit, under, fits[0])
        if better[0].fit.scale > _LESS * fits[0].fit.scale:
            return sorted([*fits, *better], key=lambda each: each.fit.scale)
        fits = better + fits
    return fits


def _replaced(pursuit: MaskedPursuit, under: RowUnderMask, best: FittedSet) -> list[FittedSet]:
    count = len(best.places)
    kept = torch.tensor([[*range(left), *range(left + 1, count)] for left in range(count)])
    places = torch.tensor(best.places)[kept]
    weights = torch.from_numpy(best.fit.weights).float().clamp_min(0)[kept]
    row = under.row[None]
    _, ranked = pursuit.next(row.expand(count, -1, -1, -1), Found(places, weights), CANDIDATES)
    few = replace(
        best.pairs,
        **{name: getattr(best.pairs, name)[:SCREENED] for name in ("first", "second", "one", "two", "channel")},
    )
    scored: list[tuple[float, int, int]] = []
    for left in range(count):
        differences = best.differences[:, :SCREENED][[*kept[left].tolist(), left]]
        start = best.fit.weights[[*kept[left].tolist(), left]]
        for place, image in zip(ranked[left].tolist(), under.images(ranked[left].tolist()), strict=True):
            differences[-1] = few.of(image)
            fit = robust_weights(few, differences, start, under.mass, SCREENING)
            scored.append((fit.scale, left, place))
    scored.sort()
    sets = torch.tensor([[*places[left].tolist(), place] for _, left, place in scored[:FINALISTS]])
    starts = torch.from_numpy(
        np.stack([best.fit.weights[[*kept[left].tolist(), left]] for _, left, _ in scored[:FINALISTS]])
    )
    return fitted_sets(under, Found(sets, starts))
