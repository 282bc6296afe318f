"""Taking the public images out of Mixup (InstaHide §2.2)."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch

from hideseek.chance import Randomness
from hideseek.records import Attack, EncodedRelease, Evidence, PublicImagesFound, Reason, Reconstruction, Refusal, Task
from hideseek.seek.refusals import check_rows, without_public
from hideseek.seek.run import check
from hideseek.seek.signals.matched_filter import Candidates, pursue
from hideseek.seek.signals.whitening import Whitening
from hideseek.seek.systems.exact_rows import ExactRows, exact_work, remaining_of
from hideseek.seek.work import TOUCH, attacked, largest

WORTH = 0.2  # of rows must be confirmed, else images do not come in bytes, and nothing can be repaired
LEAST_ROWS = 20  # that are worth attacking


@dataclass(frozen=True)
class MixupPublic(Attack[EncodedRelease]):
    """Find the public images in every row, solve for their weights, and subtract them.

    A row is x̃ = Σ_j λ_j x_j + Σ_j μ_j s_j, with private x_j and public s_j; what is left is x̃ − Σ_j μ_j s_j.

    InstaHide §2.2 compares a row with every public image by inner products, ⟨x̃, s⟩, in O(N k). Real images are not
    independent at the pixel level, so that plain inner products find all public images in hardly any row.

    Deviation, to make it work: images are made white first, every place is weighted by the inverse of the local energy
    of the rest of the row, and images are found one after another (`matched_filter`); then `exact` takes the weights
    from places where the private image is flat (`flat_pairs`), which confirms a row, or repairs it.
    """

    sees: ClassVar = EncodedRelease
    needs: ClassVar = ("public",)
    source: ClassVar = "InstaHide §2.2; whitening and exact weights are ours"

    exact: bool = True
    """Confirm and repair by places where neighbouring pixels are equal; for images that come in bytes."""
    rows: int | None = None
    """Attack the first rows only."""

    def __post_init__(self) -> None:
        check_rows(self.rows)

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        """Find, confirm, subtract."""
        check(self, release)
        public, count = release.public, release.scheme.images_per_row.public
        assert public is not None  # noqa: S101 (`needs`)
        encoded = release.encoded.take(slice(self.rows))
        white = Whitening.of(public)
        candidates = Candidates(public, lambda pixels: white(pixels).flatten(1))
        rows, labels = encoded.pixels(), release.mixed_labels[: self.rows]
        found, weights = pursue(white(rows), candidates, count)
        confirmed = torch.zeros(len(rows), dtype=torch.bool)
        if self.exact:
            exact = labels.shape[1] > 0 and release.scheme.label_kind == "exact"
            mass = 1 - labels.sum(1).double() if exact else None  # of the public images
            row_by_row = ExactRows(rows, mass, public, chance)
            confirmed = row_by_row.confirm(found, weights)
            doubted = (~confirmed).nonzero()[:, 0]
            if mass is not None and 0 < len(doubted) < (1 - WORTH) * len(rows):
                row_by_row.repair(doubted, found, weights, confirmed, white, candidates)
        private = labels.sum(1) if labels.shape[1] else (1 - weights.sum(1))
        remains = remaining_of(rows, public, found, weights) / private.clamp_min(1e-3)[:, None, None, None]
        about = torch.arange(len(rows))
        return Evidence(
            (
                PublicImagesFound(about, found, weights, len(public), complete=True),
                Reconstruction(remains, about, "items"),
            ),
            {"confirmed": float(confirmed.float().mean())},
        )

    def refuses(self, release: EncodedRelease) -> Refusal | None:
        """Refuse a scheme that mixes in no public images, and a mask."""
        refusal = without_public(release)
        return Refusal(Reason.MASKED) if refusal is None and release.scheme.masked else refusal

    def work(self, task: Task) -> float:
        """Count two products of rows and images for every public image of a row, and the exact weights of rows."""
        rows = attacked(self.rows, task)
        count = max(1, task.images_per_item - 1)
        passes = 12 * (rows * count + task.public) * TOUCH
        pursued = count * task.pixels * (2.0 * rows * task.public + passes)
        return pursued + (rows * exact_work(count, task) if self.exact else 0.0)

    def within(self, work: float, task: Task) -> Self:
        """Attack fewer rows."""
        if self.work(task) <= work:
            return self
        most = attacked(self.rows, task)
        return replace(self, rows=largest(lambda rows: replace(self, rows=rows).work(task), LEAST_ROWS, most, work))
