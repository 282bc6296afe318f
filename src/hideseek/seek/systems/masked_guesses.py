"""What a search says of the public images of masked rows, and which of it exact weights confirm."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.seek.signals.masked_beam import CHILDREN, Beams, Ranked, follow, start, successors
from hideseek.seek.signals.masked_pursuit import MaskedPursuit
from hideseek.seek.signals.public_sets import Found
from hideseek.seek.systems.exact_unmasking import FittedSet, exact_several, exact_single, exact_two, fitted_sets
from hideseek.seek.systems.row_under_mask import LEAST_MASS, ExactSet, RowUnderMask
from hideseek.seek.systems.set_repair import repaired

SINGLES, FITTED = 2000, 30  # candidates for the one public image of a row, and those whose weights are fitted
PAIRS = 1500  # likeliest pairs of candidates for the two of a row, of all guesses of one of them
SETS = 3  # guesses of three images or more that exact weights are sought for


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
        beams = start(pursuit, rows, max(width, FITTED) if count == 1 else width)
        if count == 1:
            scores, places = pursuit.first(rows, min(tests, SINGLES))
            return cls(pursuit, beams, (scores[:, None], places[:, None]), beams)
        for _ in range(count - 2):
            beams = follow(pursuit, rows, beams, width)
        ranked = successors(pursuit, rows, beams, tests if count == 2 else CHILDREN)
        return cls(pursuit, beams, ranked, follow(pursuit, rows, beams, width, ranked))

    def of_rows(self, rows: Sequence[RowUnderMask], chance: Randomness, *, exact: bool) -> list[ExactSet | Found]:
        """Look for exact weights in every row, if asked to; else give the likeliest set.

        Sets are judged by what they leave of differences of neighbours; rows without neighbours have none.
        """
        answers = [self._at_once(number, row, exact=exact) for number, row in enumerate(rows)]
        left = [number for number, answer in enumerate(answers) if answer is None]
        sets = [fitted_sets(rows[number], self._whole(number)) for number in left]
        if self.sets.places.shape[2] > 1:
            sets = repaired(self.pursuit, [rows[number] for number in left], sets)
        for number, fits in zip(left, sets, strict=True):
            found = self._confirmed(number, rows[number], fits[:SETS], chance) if exact else None
            answers[number] = fits[0].found if found is None else found
        return [answer for answer in answers if answer is not None]

    def _at_once(self, number: int, row: RowUnderMask, *, exact: bool) -> ExactSet | Found | None:
        """Find one public image, or two with a known sum of weights; None where sets must be fitted."""
        whole = self._whole(number)
        likeliest = Found(whole.places[:1], whole.weights[:1])
        if (row.mass is not None and row.mass < LEAST_MASS) or min(row.row.shape[1:]) == 1:
            return likeliest
        count = whole.places.shape[1]
        if count == 1 and row.mass is not None:
            return (exact_single(row, self.ranked[1][number, 0]) if exact else None) or likeliest
        return exact_two(row, *self._pairs(number)) if exact and count == 2 and row.mass is not None else None

    def _confirmed(
        self, number: int, row: RowUnderMask, fits: Sequence[FittedSet], chance: Randomness
    ) -> ExactSet | None:
        """Look for exact weights near those of the best sets; for a single image also among all candidates."""
        found = exact_several(row, fits, chance)
        if found is None and row.mass is None and self.sets.places.shape[2] == 1:
            return exact_single(row, self.ranked[1][number, 0])
        return found

    def _whole(self, number: int) -> Found:
        return Found(self.sets.places[number], self.sets.weights[number])

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
