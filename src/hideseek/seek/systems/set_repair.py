"""Correcting sets of public images, one image at a time: what was found early was found with the least knowledge."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from hideseek.seek.signals.masked_pursuit import MaskedPursuit
from hideseek.seek.signals.public_sets import Found
from hideseek.seek.systems.difference_scores import influence, missing_images
from hideseek.seek.systems.exact_unmasking import FittedSet, fitted_sets
from hideseek.seek.systems.robust_weights import robust_weights
from hideseek.seek.systems.row_under_mask import RowUnderMask

CANDIDATES = 200  # for the place of each image
ROUNDS = 6  # of correcting one image
FINALISTS = 4  # that are fitted in full
SCREENED = 2000  # pairs of neighbours that choose them
SCREENING = (1.0,) * 5  # scales of the steps of a fit to them
_LESS = 0.997  # of the error that another set must leave, at most


def repaired(
    pursuit: MaskedPursuit, rows: Sequence[RowUnderMask], fits: Sequence[list[FittedSet]]
) -> list[list[FittedSet]]:
    """Leave out each image of the best set in turn, search for what fits in its place, and keep what leaves less.

    `fits` has the sets of every row, the best first. Rows are searched together: public images may be many.
    """
    answers, doubted = list(fits), list(range(len(rows)))
    for _ in range(ROUNDS):
        best = [answers[number][0] for number in doubted]
        again, ranked = [], _candidates(pursuit, [rows[number] for number in doubted], best)
        for number, others in zip(doubted, ranked, strict=True):
            before = answers[number]
            better = _replaced(rows[number], before[0], others)
            if better[0].fit.scale <= _LESS * before[0].fit.scale:
                answers[number] = better + before
                again.append(number)
            else:
                answers[number] = sorted([*before, *better], key=lambda each: each.fit.scale)
        doubted = again
    return answers


def _candidates(
    pursuit: MaskedPursuit, rows: Sequence[RowUnderMask], sets: Sequence[FittedSet]
) -> list[Int[Tensor, "j m"]]:
    """Give for every image of the sets what may be in its place, if the others are right."""
    if not sets:
        return []
    influences, taken = [], []
    for row, best in zip(rows, sets, strict=True):
        for kept in _all_but_one(len(best.places)):
            fit = robust_weights(best.pairs, best.differences[kept], best.fit.weights[kept], None)
            influences.append(influence(best.pairs, fit.errors, row.row.numel()))
            taken.append([best.places[place] for place in kept])
    ranked = missing_images(pursuit, torch.stack(influences), torch.tensor(taken), CANDIDATES)
    return list(ranked.view(len(sets), -1, ranked.shape[1]))


def _replaced(row: RowUnderMask, best: FittedSet, ranked: Int[Tensor, "j m"]) -> list[FittedSet]:
    """Try candidates in the place of each image on some of the pairs, and fit the likeliest sets in full."""
    names = ("first", "second", "one", "two", "channel")
    few = replace(best.pairs, **{name: getattr(best.pairs, name)[:SCREENED] for name in names})
    scored: list[tuple[float, list[int], int]] = []
    for left, kept in enumerate(_all_but_one(len(best.places))):
        order = [*kept, left]
        differences, start = best.differences[:, :SCREENED][order], best.fit.weights[order]
        for place, image in zip(ranked[left].tolist(), row.images(ranked[left].tolist()), strict=True):
            differences[-1] = few.of(image)
            fit = robust_weights(few, differences, start, row.mass, SCREENING)
            scored.append((fit.scale, order, place))
    finalists = sorted(scored)[:FINALISTS]
    sets = [[*(best.places[place] for place in order[:-1]), place] for _, order, place in finalists]
    starts = np.stack([best.fit.weights[order] for _, order, _ in finalists])
    return fitted_sets(row, Found(torch.tensor(sets), torch.from_numpy(starts)))


def _all_but_one(count: int) -> list[list[int]]:
    return [[*range(left), *range(left + 1, count)] for left in range(count)]
