"""Patches of larger public images that may be in a masked row: few enough to be looked at one by one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Self

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.records import Samples
from hideseek.seek.signals.anywhere import PlacesFound, anywhere, cut_at
from hideseek.seek.signals.masked_beam import start
from hideseek.seek.signals.masked_pursuit import MaskedPursuit
from hideseek.seek.signals.public_sets import Found
from hideseek.seek.signals.soft_signs import soft_signs
from hideseek.seek.signals.white_search import WhiteSearch
from hideseek.seek.signals.whitening import squares
from hideseek.seek.systems.masked_guesses import MaskedGuesses

CANDIDATES = 300  # of every search, for a row

Pixels = Float[Tensor, "n c h w"]


@dataclass(frozen=True)
class LargeImages:
    """Public images that are larger than rows, and how they are made white."""

    images: Samples
    of_squares: Callable[[Pixels], Pixels]
    plain: Callable[[Pixels], Pixels]

    @classmethod
    def like(cls, images: Samples) -> Self:
        """Estimate spectra."""
        return cls(images, WhiteSearch.like(images, squares).maps, WhiteSearch.like(images, _as_they_are).maps)

    def candidates(self, pursuit: MaskedPursuit, rows: Pixels, count: int) -> list[tuple[Samples, Int[Tensor, " m"]]]:
        """Give patches for every row, with the numbers of the images that they are of.

        Squares find patches; what the likeliest of them leaves of a row, with its signs, finds more.
        """
        shape = (rows.shape[1], rows.shape[2], rows.shape[3])
        found = [anywhere(pursuit.squares(rows.square() - pursuit.mean), self.images, self.of_squares, CANDIDATES)]
        for _ in range(count - 1):
            rests = []
            for row in range(len(rows)):
                patches, _ = self._patches(found, row, shape)
                rests.append(_rest(pursuit.over(patches), rows[row : row + 1], len(found)))
            found.append(anywhere(pursuit.plain(torch.cat(rests)), self.images, self.plain, CANDIDATES))
        return [self._patches(found, row, shape) for row in range(len(rows))]

    def _patches(
        self, found: list[PlacesFound], row: int, shape: tuple[int, int, int]
    ) -> tuple[Samples, Int[Tensor, " m"]]:
        """Cut the patches that were found for a row, none of them twice."""
        places = torch.cat([torch.stack([each.images[row], each.tops[row], each.lefts[row]], 1) for each in found])
        which, tops, lefts = places.unique(dim=0).T
        return cut_at(self.images, which, tops, lefts, shape), which


def row_guesses(
    pursuit: MaskedPursuit, large: LargeImages | None, rows: Pixels, count: int, width: int, tests: int
) -> Iterator[tuple[MaskedGuesses, slice, Int[Tensor, " m"] | None]]:
    """Search rows, all together; of larger images, each row has candidates of its own.

    Gives guesses with the rows that they are of, and the numbers of the candidates' images.
    """
    if large is None:
        yield MaskedGuesses.of(pursuit, rows, count, width, tests), slice(None), None
        return
    for number, (patches, which) in enumerate(large.candidates(pursuit, rows, count)):
        one = slice(number, number + 1)
        yield MaskedGuesses.of(pursuit.over(patches), rows[one], count, width, tests), one, which


def _rest(pursuit: MaskedPursuit, row: Pixels, count: int) -> Pixels:
    """Give what the likeliest patches leave of a row."""
    found = start(pursuit, row, 1).best()
    for _ in range(count - 1):
        place = pursuit.next(row, found, 1)[1]
        found = pursuit.fit(row, torch.cat([found.places, place], 1), found.weights)
    known = Found(found.places, found.weights).sum(pursuit.public)
    signs, _ = soft_signs(row, known)
    return signs * row - known


def _as_they_are(images: Pixels) -> Pixels:
    return images
