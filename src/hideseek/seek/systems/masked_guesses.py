"""What a search says of the public images of masked rows, and which of it exact weights confirm."""

from dataclasses import dataclass
from typing import Self

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.seek.signals.masked_beam import CHILDREN, Beams, Ranked, follow, start, successors
from hideseek.seek.signals.masked_pursuit import MaskedPursuit
from hideseek.seek.signals.public_sets import Found
from hideseek.seek.systems.exact_unmasking import exact_several, exact_single, exact_two, fitted_sets
from hideseek.seek.systems.row_under_mask import ExactSet, RowUnderMask
from hideseek.seek.systems.set_repair import repaired

SINGLES = 2000  # candidates for the one public image of a row
PAIRS = 1500  # likeliest pairs of candidates for the two of a row, of all guesses of one of them
SETS = 3  # guesses of three images or more that exact weights are sought for
LEAST_MASS = 1e-3  # of public images in a row


@dataclass(frozen=True)
class MaskedGuesses:
    """Guesses for a block of rows: all images but the last, what may follow, and whole sets, the likeliest first."""

    pursuit: MaskedPursuit
    before: Beams
    ranked: Ranked
    sets: Beams

    @classmethod
    def of(cls, pursuit: MaskedPursuit, rows: Float[Tensor, "n c h w"], count: int, width: int, tests: int) -> Self:
        """Search for so many public images, keep `width` guesses, and what `tests` exact tests may look at."""
        beams = start(pursuit, rows, width)
        if count == 1:
            scores, places = pursuit.first(rows, min(tests, SINGLES))
            return cls(pursuit, beams, (scores[:, None], places[:, None]), beams)
        for _ in range(count - 2):
            beams = follow(pursuit, rows, beams, width)
        ranked = successors(pursuit, rows, beams, tests if count == 2 else CHILDREN)
        return cls(pursuit, beams, ranked, follow(pursuit, rows, beams, width, ranked))

    def of_row(self, number: int, row: RowUnderMask, chance: Randomness, *, exact: bool) -> ExactSet | Found:
        """Look for exact weights in one row, if asked to; else give the likeliest set.

        Where labels tell what weights sum to, sets are judged by what they leave of differences of neighbours.
        """
        whole = Found(self.sets.places[number], self.sets.weights[number])
        if row.mass < LEAST_MASS or not len(row.private) or min(row.row.shape[1:]) == 1:
            return Found(whole.places[:1], whole.weights[:1])
        count = whole.places.shape[1]
        if count == 1:
            found = exact_single(row, self.ranked[1][number, 0]) if exact else None
            return found or Found(whole.places[:1], whole.weights[:1])
        fits = fitted_sets(row, whole)
        if count > 2:
            fits = repaired(self.pursuit, row, fits)
        if exact:
            found = exact_two(row, *self._pairs(number)) if count == 2 else exact_several(row, fits[:SETS], chance)
            if found is not None:
                return found
        return fits[0].found

    def _pairs(self, number: int) -> tuple[Int[Tensor, " m"], Int[Tensor, " m"]]:
        """Give pairs of images to be tried: the likeliest, then all that may go with the likeliest single image."""
        scores, places = (each[number].flatten() for each in self.ranked)
        many = self.ranked[1].shape[2]
        firsts = self.before.places[number].expand(-1, many).flatten()
        likely = scores.topk(min(PAIRS, len(scores))).indices
        others = torch.ones(many, dtype=torch.bool)
        others[likely[likely < many]] = False
        order = torch.cat([likely, others.nonzero().flatten()])
        return firsts[order], places[order]
