"""Comparing rows with public images by inner products of pixels (InstaHide §2.2)."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.records import EncodedRelease, Task
from hideseek.seek.signals.matched_filter import Candidates, nearest
from hideseek.seek.signals.patches import shrunk
from hideseek.seek.signals.public_similarity import PublicSimilarity, Ranking
from hideseek.seek.work import TOUCH


@dataclass(frozen=True)
class PlainProducts(PublicSimilarity):
    """Inner products ⟨x̃, s⟩ of pixels as they are; larger images are shrunk."""

    def search(
        self, rows: Float[Tensor, "n c h w"], release: EncodedRelease, count: int, chance: Randomness, *, masked: bool
    ) -> Ranking:
        """Give the images with the largest products."""
        assert release.public is not None  # noqa: S101 (the attack needs it)
        candidates = Candidates(release.public, lambda images: shrunk(images, release.encoded.shape).flatten(1))
        return Ranking(*nearest(rows.flatten(1), candidates, count))

    def work(self, rows: int, task: Task) -> float:
        """Count the products, and their ranking."""
        return rows * task.public * (task.pixels + 3 * TOUCH) + (rows + task.public) * task.pixels * TOUCH
