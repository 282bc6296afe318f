"""Taking the public images out of Mixup (InstaHide §2.2)."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch

from hideseek.chance import Randomness
from hideseek.records import Attack, EncodedRelease, Evidence, PublicImagesFound, Reconstruction, Task
from hideseek.seek.costs import PRODUCT, VALUE, attacked, fits, largest
from hideseek.seek.refusals import check_rows, without_public
from hideseek.seek.run import check
from hideseek.seek.signals.matched_filter import Candidates, pursue
from hideseek.seek.signals.whitening import Whitening
from hideseek.seek.systems.exact_rows import Exact, remaining_of

WORTH = 0.2  # of rows must be confirmed, else images do not come in bytes, and nothing can be repaired
LEAST_ROWS = 20  # that are worth attacking
EXACT = 0.1  # seconds of a row, where one in twenty or so must be repaired


@dataclass(frozen=True)
class MixupPublic(Attack[EncodedRelease]):
    """Find the public images in every row, solve for their weights, and subtract them: the private image remains.

    InstaHide §2.2 compares a row with every public image by inner products, ⟨x̃, s⟩, in O(N k). Real images are not
    independent at the pixel level, so that plain inner products find all public images in hardly any row.

    Deviation, to make it work: images are made white first, every place is weighted by how quiet the rest of the row
    is there, and images are found one after another (`matched_filter`); then `exact` takes the weights from places
    where the private image is flat (`flat_pairs`), which confirms a row, or mends it.
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
        rows = encoded.pixels()
        found, weights = pursue(white(rows), candidates, count)
        confirmed = torch.zeros(len(rows), dtype=torch.bool)
        if self.exact:
            mass = 1 - encoded.labels.sum(1).double() if encoded.labels.shape[1] else None  # of the public images
            row_by_row = Exact(rows, mass, public, chance)
            confirmed = row_by_row.confirm(found, weights)
            doubted = (~confirmed).nonzero()[:, 0]
            if mass is not None and 0 < len(doubted) < (1 - WORTH) * len(rows):
                row_by_row.repair(doubted, found, weights, confirmed, white, candidates)
        private = encoded.labels.sum(1) if encoded.labels.shape[1] else (1 - weights.sum(1))
        remains = remaining_of(rows, public, found, weights) / private.clamp_min(1e-3)[:, None, None, None]
        about = torch.arange(len(rows))
        return Evidence(
            (PublicImagesFound(about, found, weights, len(public), complete=True), Reconstruction(remains, about)),
            {"confirmed": float(confirmed.float().mean())},
        )

    def refuses(self, release: EncodedRelease) -> str:
        """Refuse a scheme that mixes no public images in, and a mask."""
        refusal = without_public(release)
        if not refusal and release.scheme.masked:
            refusal = "this attack is on Mixup with public images; under a mask use public-search or braverman."
        return refusal

    def effort(self, task: Task) -> float:
        """Count two products of rows and images for every public image of a row, and the exact weights of rows."""
        rows = attacked(self.rows, task)
        count = max(1, task.images_per_item - 1)
        pursued = count * task.pixels * (2 * rows * task.public * PRODUCT + (rows * count + task.public) * 4 * VALUE)
        return pursued + (rows * EXACT if self.exact else 0.0)

    def within(self, seconds: float, task: Task) -> Self:
        """Attack fewer rows."""
        if fits(self, seconds, task):
            return self
        most = attacked(self.rows, task)
        return largest(lambda rows: replace(self, rows=rows), LEAST_ROWS, most, seconds, task)
