"""Ranking public images by squares, which a mask of signs does not change (InstaHide §9, Braverman's attack)."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.progress import track
from hideseek.records import Attack, EncodedRelease, Evidence, PublicImagesFound, Refusal, Task
from hideseek.records.result import Harm
from hideseek.seek.refusals import check_rows, without_public
from hideseek.seek.run import check
from hideseek.seek.work import LEAST_ROWS, TOUCH, attacked, largest, sorting

QUERIES = 512  # rows of a block


@dataclass(frozen=True)
class Braverman(Attack[EncodedRelease]):
    """Rank the public images by inner products of squares, which a mask does not change (InstaHide §9).

    Image s has the score v_s = ⟨x̃², s²⟩ − ‖x̃‖² ‖s‖² / d; the largest comes first. Were images Gaussian, those in the
    row would come first; the search for all of a row's public images then shrinks to the head of the ranking.

    Deviation: as printed, v_s grows with ‖s‖² and with how spiky s² is, whatever the row, so the images with the
    largest norms head every ranking. `normalised` divides by the deviation of s², which makes it the correlation of x̃²
    and s² (ours).
    """

    sees: ClassVar = EncodedRelease
    needs: ClassVar = ("public",)
    source: ClassVar = "InstaHide §9"
    shows: ClassVar = Harm.PARTS

    normalised: bool = False
    """Rank by the correlation of squares instead."""
    rows: int | None = 500
    """Rank for the first rows only; every ranking is kept whole."""

    def __post_init__(self) -> None:
        check_rows(self.rows)

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        """Rank all public images for every row."""
        check(self, release)
        public = release.public
        assert public is not None  # noqa: S101 (`needs`)
        encoded = release.encoded.take(slice(self.rows))
        squares = _centred_squares(public.pixels(), self.normalised)
        scores, order = [], []
        for start in track(range(0, len(encoded), QUERIES), "ranking"):
            values = _centred_squares(encoded.pixels(slice(start, start + QUERIES)), False) @ squares.T
            ranked = values.sort(1, descending=True)
            scores.append(ranked.values)
            order.append(ranked.indices)
        rows = torch.arange(len(encoded))
        return Evidence((PublicImagesFound(rows, torch.cat(order), torch.cat(scores), len(public)),))

    def refuses(self, release: EncodedRelease) -> Refusal | None:
        """Refuse a scheme that mixes in no public images."""
        return without_public(release)

    def work(self, task: Task) -> float:
        """Count the products of rows and images, and the sorting."""
        rows = attacked(self.rows, task)
        products = rows * task.public * task.pixels + rows * sorting(task.public)
        return products + 3 * (rows + task.public) * task.pixels * TOUCH

    def within(self, work: float, task: Task) -> Self:
        """Rank for fewer rows."""
        if self.work(task) <= work:
            return self
        most = attacked(self.rows, task)
        return replace(self, rows=largest(lambda rows: replace(self, rows=rows).work(task), LEAST_ROWS, most, work))


def _centred_squares(images: Float[Tensor, "n c h w"], normalised: bool) -> Float[Tensor, "n pixels"]:
    """Give s² less its mean: then ⟨x̃² − mean, s² − mean⟩ = ⟨x̃², s²⟩ − ‖x̃‖² ‖s‖² / d."""
    squares = images.flatten(1).square()
    squares = squares - squares.mean(1, keepdim=True)
    return squares / squares.norm(dim=1, keepdim=True).clamp_min(1e-30) if normalised else squares
