"""Taking the public images out of single rows of InstaHide, and its mask with them."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.progress import track
from hideseek.records import (
    Attack,
    EncodedRelease,
    Evidence,
    PublicImagesFound,
    Reason,
    Reconstruction,
    Refusal,
    Task,
)
from hideseek.seek.refusals import check_rows, without_public
from hideseek.seek.rows.byte_decoding import constants
from hideseek.seek.run import check
from hideseek.seek.signals.masked_pursuit import SAMPLE, MaskedPursuit
from hideseek.seek.signals.patches import cut
from hideseek.seek.systems.byte_prior import prior_of
from hideseek.seek.systems.cut_candidates import LargeImages, row_guesses
from hideseek.seek.systems.row_under_mask import MOST_PRIVATE, RowUnderMask, exact_bytes, told_weights
from hideseek.seek.systems.unmasked_rows import UnmaskedRow, unmasked
from hideseek.seek.systems.unmasking_work import BLOCK, a_row, once
from hideseek.seek.work import attacked, largest

LEAST_ROWS = 40  # fewer do not tell images that come back from chance, among all that an audit looks at
MOST = 1.05  # that labels may sum to: they may be rounded


@dataclass(frozen=True)
class UnmaskPublic(Attack[EncodedRelease]):
    """Find the public images in a single masked row, and with them its signs and its private images.

    A row is x̃ = σ ∘ (Σ_j λ_j x_j + Σ_j μ_j s_j), with private x_j and public s_j. InstaHide §4 counts N^(k−2) sets of
    public images that a row might hold. None of that is needed: white squares, which no mask changes, find one image;
    then cross terms and the signs that it tells find the next (`masked_pursuit`, `masked_beam`), in N steps each.
    Labels sum to the weight of the private images, and these are bytes, so the exact weights of public images follow
    from neighbouring pixels and confirm the set (`signed_pairs`, `exact_sets`); where labels are rounded, drawn or
    withheld, the row itself tells all weights. What public images leave is λ₁b₁ + λ₂b₂, under a sign that is known or
    not, and is decoded (`byte_decoding`). Where nothing is exact, the signs of the public part, corrected by
    neighbours, leave the private mixture.
    """

    sees: ClassVar = EncodedRelease
    needs: ClassVar = ("public",)
    source: ClassVar = "hideseek"

    exact: bool = True
    """Look for exact weights and decode bytes; for images that come in bytes, in rows of float32."""
    guesses: int = 6
    """Sets of public images that are kept for every row, the likeliest."""
    tests: int = 10_000
    """Candidates for the last of two public images that are tried by exact weights."""
    rows: int | None = None
    """Attack the first rows only."""

    def __post_init__(self) -> None:
        check_rows(self.rows)
        if min(self.guesses, self.tests) < 1:
            raise BadInput(f"guesses and tests must be 1 or more, not {self.guesses} and {self.tests}.")

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        """Find sets of public images, confirm and decode; else subtract the likeliest."""
        check(self, release)
        public = release.public
        assert public is not None  # noqa: S101 (`needs`)
        pixels = release.encoded.pixels(slice(self.rows)).abs()
        labels = release.mixed_labels[: self.rows]
        _check(pixels, labels)
        sample = release.encoded.pixels(slice(0, SAMPLE)).abs()
        larger = public.shape != release.encoded.shape
        cuts = cut(public.take(slice(0, SAMPLE)), release.encoded.shape, chance) if larger else public
        pursuit = MaskedPursuit(sample, cuts, sum(release.scheme.images_per_row), chance)
        large = LargeImages.like(public) if larger else None
        prior = prior_of(release.own if release.own is not None else public, public.shape[0])
        private, count = release.scheme.images_per_row
        exact = self.exact and exact_bytes(release)
        answers: list[UnmaskedRow] = []
        for part in track(torch.arange(len(pixels)).split(BLOCK), "unmasking rows"):
            for guess, some, which in row_guesses(pursuit, large, pixels[part], count, self.guesses, self.tests):
                rows = [
                    RowUnderMask(
                        row, told_weights(release, label), private, *constants(release.encoded), guess.pursuit.public
                    )
                    for row, label in zip(pixels[part][some], labels[part][some], strict=True)
                ]
                for under, found in zip(rows, guess.of_rows(rows, chance, exact=exact), strict=True):
                    answer = unmasked(under, found, prior)
                    answers.append(answer if which is None else answer.named(which))
        about = torch.arange(len(pixels))
        sure = torch.tensor([answer.sure for answer in answers])
        places = torch.stack([answer.found.places[0] for answer in answers])
        weights = torch.stack([answer.found.weights[0] for answer in answers])
        order = weights.argsort(1, descending=True)
        return Evidence(
            (
                Reconstruction(
                    torch.cat([answer.images for answer in answers]),
                    about.repeat_interleave(private),
                    "batches",
                    sure.repeat_interleave(private),
                ),
                PublicImagesFound(
                    about,
                    places.gather(1, order),
                    weights.gather(1, order),
                    len(public),
                    complete=True,
                    larger=larger,
                ),
            ),
            {
                "rows": len(pixels),
                "rows are exact sums": float(exact),
                "public images confirmed": float(np.mean([answer.confirmed for answer in answers])),
                "confirmed": float(sure.float().mean()),
            },
        )

    def refuses(self, release: EncodedRelease) -> Refusal | None:
        """Refuse rows without public images or without a mask, and public images that are not those of the rows."""
        refusal = without_public(release, cut=True)
        if refusal is None and not release.scheme.masked:
            return Refusal(Reason.NOT_MASKED)
        return refusal

    def work(self, task: Task) -> float:
        """Count what is done once and for every row."""
        each = a_row(task, self.guesses, self.tests, MOST_PRIVATE, exact=self.exact)
        return once(task) + attacked(self.rows, task) * each

    def within(self, work: float, task: Task) -> Self:
        """Attack fewer rows."""
        if self.work(task) <= work:
            return self
        most = attacked(self.rows, task)
        return replace(self, rows=largest(lambda rows: replace(self, rows=rows).work(task), LEAST_ROWS, most, work))


def _check(pixels: Tensor, labels: Tensor) -> None:
    if not pixels.isfinite().all():
        raise BadInput("rows must be finite numbers.")
    if labels.numel() and not (labels.isfinite().all() and labels.min() >= 0 and labels.sum(1).max() <= MOST):
        raise BadInput("labels must be mixtures of classes: finite, not negative, with a sum of 1 at most.")
