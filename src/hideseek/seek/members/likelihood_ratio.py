"""Is this candidate in the rows? The ratio of their likelihoods if it is and if it is not, for every scheme."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch

from hideseek.chance import Randomness
from hideseek.records import Attack, EncodedRelease, Evidence, Membership, Reason, Refusal, Samples, Task
from hideseek.records.result import Harm
from hideseek.seek.refusals import check_rows, check_spread, unsuited_candidates
from hideseek.seek.run import check
from hideseek.seek.signals.candidate_filter import CandidateFilter
from hideseek.seek.signals.row_slots import RowSlots
from hideseek.seek.work import LEAST_ROWS, TOUCH, attacked, largest

OWN = 1000  # images of the attacker's own, at most, that scores are put beside


@dataclass(frozen=True)
class LikelihoodRatio(Attack[EncodedRelease]):
    """Sum over rows log p(row | the candidate is private) − log p(row | it is not).

    Nothing is known of what a candidate is mixed with: partners, public images and noise are taken together, as
    Gaussian with the spectrum of rows and the energy that is seen around every place, so that the test is a matched
    filter on white rows; in squares under a mask of signs (`candidate_filter`). Weights are those of the labels where
    these show them, else what is expected of them. A private image may be in any row, in k of those of a round.

    Scores are put beside those of the attacker's own images in the same row, and the same candidate's in other rows;
    without own images, beside those of the other candidates, of which half are not in any row.
    """

    sees: ClassVar[type[EncodedRelease]] = EncodedRelease
    needs: ClassVar[tuple[str, ...]] = ("candidates",)
    source: ClassVar[str] = "hideseek; Neyman and Pearson's test"
    shows: ClassVar[Harm] = Harm.TOLD_APART

    rows: int | None = None
    """Attack the first rows only."""

    def __post_init__(self) -> None:
        check_rows(self.rows)

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        """Score every candidate in every row; nothing is left to chance."""
        check(self, release)
        gallery = release.candidates
        assert gallery is not None  # noqa: S101 (`needs`)
        rows = release.encoded.take(slice(self.rows))
        sample = rows.pixels(slice(0, 2048))
        check_spread(sample - sample.mean(0))
        fitted = CandidateFilter.of(rows, gallery, _own(release), masked=release.scheme.masked)
        weights = RowSlots.of(release).weights[: len(rows)]
        total = torch.zeros(len(gallery), dtype=torch.float64)
        most = torch.full((len(gallery),), -torch.inf)
        images = max(1, len(release.encoded) // release.rounds)
        for _, ratios in fitted.log_likelihood_ratios(rows, weights, images):
            total += ratios.double().sum(0)
            most = torch.maximum(most, ratios.amax(0))
        remarks = {
            "rows": len(rows),
            "log odds, median": round(float(total.median()), 3),
            "log odds of one row, largest": round(float(most.max()), 3),
        }
        return Evidence((Membership(torch.arange(len(gallery)), total.float()),), remarks)

    def refuses(self, release: EncodedRelease) -> Refusal | None:
        """Refuse moved images, and candidates that cannot be in rows."""
        return Refusal(Reason.NOT_LINEAR) if release.scheme.moves else unsuited_candidates(release)

    def work(self, task: Task) -> float:
        """Count two products of rows with candidates and own images, what makes them white, and each likelihood."""
        rows, gallery, own = attacked(self.rows, task), 2 * task.images, min(OWN, task.own)
        products = 2.0 * rows * (gallery + own) * task.pixels
        passes = 20.0 * (rows + gallery + own) * task.pixels * TOUCH
        return products + passes + rows * gallery * (10.0 + 4 * task.images_per_item) * TOUCH

    def within(self, work: float, task: Task) -> Self:
        """Attack fewer rows."""
        most = attacked(self.rows, task)
        rows = largest(lambda rows: replace(self, rows=rows).work(task), LEAST_ROWS, most, work)
        return self if rows >= most else replace(self, rows=rows)


def _own(release: EncodedRelease) -> Samples | None:
    """Give the attacker's own images, where they are of the size of rows and normalised alike."""
    own, rows = release.own, release.encoded
    if own is None or own.shape != rows.shape or own.normalisation != rows.normalisation:
        return None
    return own.take(slice(0, OWN))
