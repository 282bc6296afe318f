"""Comparing rows with public images by SSIM (InstaHide §5.3)."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.progress import track
from hideseek.records import EncodedRelease, Refusal, Task
from hideseek.seek.refusals import too_small
from hideseek.seek.signals.matched_filter import BestCandidates
from hideseek.seek.signals.patches import shrunk
from hideseek.seek.signals.public_similarity import PublicSimilarity, Ranking
from hideseek.seek.work import TOUCH, structural_similarity
from hideseek.similarity import ssim

BLOCK = 512  # images compared together


@dataclass(frozen=True)
class Ssim(PublicSimilarity):
    """SSIM over the range that the public images have, of absolute values under a mask; larger images are shrunk."""

    def search(
        self, rows: Float[Tensor, "n c h w"], release: EncodedRelease, count: int, chance: Randomness, *, masked: bool
    ) -> Ranking:
        """Compare every row with every image."""
        public = release.public
        assert public is not None  # noqa: S101 (the attack needs it)
        rows = rows.abs() if masked else rows
        best = BestCandidates(len(rows), min(count, len(public)), rows.device)

        def block(start: int) -> Float[Tensor, "n c h w"]:
            images = shrunk(public.pixels(slice(start, start + BLOCK)), release.encoded.shape)
            return images.abs() if masked else images

        starts = range(0, len(public), BLOCK)
        limits = [(float(images.min()), float(images.max())) for images in map(block, starts)]
        width = max(high for _, high in limits) - min(low for low, _ in limits)
        for start in track(starts, "comparing"):
            images = block(start)
            for row in range(len(rows)):
                likeness = ssim(images, rows[row].expand_as(images), width or 1.0)  # images of one value are all alike
                best.take(slice(row, row + 1), likeness[None], start)
        return Ranking(best.scores, best.places)

    def refuses(self, release: EncodedRelease) -> Refusal | None:
        """Refuse rows that are smaller than a window."""
        return too_small(release)

    def work(self, rows: int, task: Task) -> float:
        """Count a comparison for every row and image."""
        values = (rows + task.public) * task.pixels
        return rows * task.public * structural_similarity(task.pixels) + values * TOUCH
