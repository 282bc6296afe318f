"""Finding the public images in a row by how alike they look (InstaHide §5.3, Figure 8)."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import torch

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records import Attack, EncodedRelease, Evidence, PublicImagesFound, Refusal, Task
from hideseek.records.result import Harm
from hideseek.seek.networks.restore_signs import RestoreSigns
from hideseek.seek.refusals import check_rows, without_public
from hideseek.seek.run import check
from hideseek.seek.signals.patches import cut
from hideseek.seek.signals.public_similarity import PublicSimilarity
from hideseek.seek.signals.white_search import WhiteProducts
from hideseek.seek.work import LEAST_ROWS, attacked, largest


@dataclass(frozen=True)
class PublicSearch(Attack[EncodedRelease]):
    """Rank the public images by how alike they are to a row.

    Image s has the score SSIM(x̃, s), or ⟨W x̃², W s²⟩, where W makes squares white. A hit is one that is in the row,
    among the top m.
    InstaHide §5.3: by SSIM, on rows whose signs a network has restored, or by a learned similarity where patches were
    cut from the images (public images that are larger than rows: the place is unknown).

    Deviation: the similarity is a value of its own. Ours, white products, needs no training, and finds far more than
    the paper's.
    """

    sees: ClassVar = EncodedRelease
    needs: ClassVar = ("public",)
    source: ClassVar = "InstaHide §5.3; white squares are ours"
    shows: ClassVar = Harm.PARTS

    similarity: PublicSimilarity = field(default_factory=WhiteProducts)
    """How rows and images are compared."""
    signs: RestoreSigns | None = None
    """Restore the signs of masked rows first, by a network."""
    top: int = 100
    """m, candidates to keep."""
    rows: int | None = None
    """Search for the first rows only."""

    def __post_init__(self) -> None:
        check_rows(self.rows)
        if self.top < 1:
            raise BadInput(f"top must be 1 or more, not {self.top}.")

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        """Restore signs if asked to, compare, rank."""
        check(self, release)
        public, masked, remarks = release.public, release.scheme.masked, dict[str, Any]()
        assert public is not None  # noqa: S101 (`needs`)
        rows = release.encoded.pixels(slice(self.rows))
        if masked and self.signs is not None:
            patches = cut(public, release.encoded.shape, chance)
            restore = self.signs.train(replace(release, public=patches), chance)
            remarks["wrong signs"] = restore.wrong
            masked, rows = False, restore(rows)
            restored = replace(release.encoded, images=rows, labels=release.encoded.labels[: len(rows)])
            release = replace(release, encoded=restored)
        found = self.similarity.search(rows, release, self.top, chance, masked=masked)
        larger = public.shape != release.encoded.shape
        claim = PublicImagesFound(torch.arange(len(rows)), found.places, found.scores, len(public), larger=larger)
        return Evidence((claim,), {**remarks, **found.remarks})

    def refuses(self, release: EncodedRelease) -> Refusal | None:
        """Refuse a scheme that mixes in no public images, and what the similarity and restoring signs refuse."""
        refusal = without_public(release, cut=True)
        if refusal is None and release.public is not None:
            refusal = self.similarity.refuses(release)
            if refusal is None and self.signs is not None and release.scheme.masked:
                refusal = self.signs.refuses(release)
        return refusal

    def work(self, task: Task) -> float:
        """Count the search, and the training of a network if there is one."""
        rows = attacked(self.rows, task)
        restoring = self.signs.work(task, rows) if self.signs is not None and task.masked else 0.0
        return restoring + self.similarity.work(rows, task)

    def within(self, work: float, task: Task) -> Self:
        """Train on less, then search for fewer rows."""
        rows = attacked(self.rows, task)
        fewer = self
        if self.signs is not None and task.masked:
            signs = self.signs.within(work - self.similarity.work(rows, task), task, rows)
            fewer = replace(fewer, signs=signs)
        left = work - (fewer.work(task) - fewer.similarity.work(rows, task))
        fewer = replace(fewer, similarity=self.similarity.within(left, rows, task))
        if fewer.work(task) <= work:
            return fewer
        most = largest(lambda count: replace(fewer, rows=count).work(task), LEAST_ROWS, rows, work)
        return replace(fewer, rows=most)
