"""Finding the public images in a row by how alike they look (InstaHide §5.3, Figure 8)."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.progress import track
from hideseek.records import Attack, EncodedRelease, Evidence, PublicImagesFound, Samples, Task
from hideseek.seek.costs import LEAST_ROWS, PRODUCT, SSIM, attacked, fits, largest
from hideseek.seek.networks import learned_search
from hideseek.seek.refusals import check_rows, too_small, without_public
from hideseek.seek.rows.demask import Demask
from hideseek.seek.run import check
from hideseek.seek.signals.matched_filter import Best, Candidates, nearest
from hideseek.seek.signals.white_search import WhiteSearch
from hideseek.seek.signals.whitening import squares
from hideseek.similarity import ssim

BLOCK = 512  # images compared together
LEAST_STEPS = 100  # of training
RANKED = 2e-9  # seconds to rank a row and an image
WHITE = 1e-8  # seconds to make a number white


@dataclass(frozen=True)
class PublicSearch(Attack[EncodedRelease]):
    """Rank the public images by how alike they are to a row; a hit is one that is in it, among the top m.

    InstaHide §5.3: by SSIM, on rows whose signs a network has restored (`demask`), or by a learned similarity where
    patches were cut from the images (public images that are larger than rows: the place is unknown).

    Ours is `white`: inner products of what is white in rows and images; under a mask, in their squares, which the mask
    does not change. Larger images are tried at every place. It needs no training, and finds far more than the paper's.
    """

    sees: ClassVar = EncodedRelease
    needs: ClassVar = ("public",)
    source: ClassVar = "InstaHide §5.3; white squares are ours"

    similarity: Literal["white", "plain", "ssim", "learned"] = "white"
    """How rows and images are compared; `plain` are the inner products of §2.2."""
    demask: bool = False
    """Restore the signs of masked rows first, by a network."""
    top: int = 100
    """m, candidates to keep."""
    rows: int | None = None
    """Search for the first rows only."""
    steps: int = 600
    """Of training, for the learned similarity."""

    def __post_init__(self) -> None:
        check_rows(self.rows)
        if self.top < 1 or self.steps < 1:
            raise BadInput(f"top and steps must be 1 or more, not {self.top} and {self.steps}.")

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        """Restore signs if asked to, compare, rank."""
        check(self, release)
        public = release.public
        assert public is not None  # noqa: S101 (`needs`)
        remarks: dict[str, Any] = {}
        masked = release.scheme.masked
        encoded = release.encoded
        rows = encoded.pixels(slice(self.rows))
        if masked and self.demask:
            patches = learned_search.cut(public, release.encoded.shape, chance)
            demasker = Demask().train(replace(release, public=patches), chance)
            remarks["wrong signs"] = demasker.wrong
            masked, rows = False, demasker(rows)
            encoded = replace(encoded, images=rows, labels=encoded.labels[: len(rows)])
        if self.similarity == "white":
            compare = WhiteSearch.like(encoded, squares if masked else _as_they_are)
            scores, places = compare.search(rows, public, self.top)
        elif self.similarity == "plain":
            candidates = Candidates(
                public, lambda images: learned_search.shrunk(images, release.encoded.shape).flatten(1)
            )
            scores, places = nearest(rows.flatten(1), candidates, self.top)
        elif self.similarity == "ssim":
            scores, places = _by_ssim(rows.abs() if masked else rows, public, self.top, masked)
        else:
            learned = learned_search.train(release, self.steps, chance)
            remarks["told apart in training"] = learned.told_apart
            scores, places = learned.search(rows, public, self.top)
        about = torch.arange(len(rows))
        return Evidence((PublicImagesFound(about, places, scores, len(public)),), remarks)

    def refuses(self, release: EncodedRelease) -> str:
        """Refuse a scheme that mixes no public images in, and what the networks refuse that are asked for."""
        refusal = without_public(release, cut=True)
        if not refusal and self.similarity == "ssim":
            refusal = too_small(release)
        if not refusal and self.similarity == "learned":
            refusal = learned_search.too_few(release)
        if not refusal and self.demask and release.scheme.masked and release.public is not None:
            refusal = Demask().refuses(release)
        return refusal

    def effort(self, task: Task) -> float:
        """Count the products of rows and images, or what another similarity does in their place."""
        rows = attacked(self.rows, task)
        pair = task.pixels * (SSIM if self.similarity == "ssim" else PRODUCT) + RANKED
        seconds = rows * task.public * pair + (rows + task.public) * task.pixels * WHITE
        if self.similarity == "learned":
            seconds += learned_search.effort(self.steps, rows + task.public, task)
        if self.demask and task.masked:
            seconds += Demask().effort(task)
        return seconds

    def within(self, seconds: float, task: Task) -> Self:
        """Train for fewer steps, then search for fewer rows."""
        attack = self
        if attack.similarity == "learned":
            attack = largest(lambda steps: replace(self, steps=steps), LEAST_STEPS, self.steps, seconds, task)
        if fits(attack, seconds, task):
            return attack
        most = attacked(self.rows, task)
        return largest(lambda rows: replace(attack, rows=rows), LEAST_ROWS, most, seconds, task)


def _as_they_are(images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
    return images


def _by_ssim(
    rows: Float[Tensor, "n c h w"], public: Samples, count: int, masked: bool
) -> tuple[Float[Tensor, "n m"], Int[Tensor, "n m"]]:
    """Compare by SSIM, over the range that the public images have; larger images are shrunk."""
    best = Best(len(rows), min(count, len(public)), rows.device)
    shape = (rows.shape[1], rows.shape[2], rows.shape[3])

    def block(start: int) -> Float[Tensor, "n c h w"]:
        images = learned_search.shrunk(public.pixels(slice(start, start + BLOCK)), shape)
        return images.abs() if masked else images

    starts = range(0, len(public), BLOCK)
    limits = [(float(images.min()), float(images.max())) for images in map(block, starts)]
    width = max(high for _, high in limits) - min(low for low, _ in limits) or 1.0  # images of one value are all alike
    for start in track(starts, "comparing"):
        images = block(start)
        for row in range(len(rows)):
            likeness = ssim(images, rows[row].expand_as(images), width)
            best.take(slice(row, row + 1), likeness[None], start)
    return best.scores, best.places
