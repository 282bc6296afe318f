"""Comparing rows with known images by inner products of what is white in them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from hideseek.chance import Randomness
from hideseek.records import EncodedRelease, Samples, Task
from hideseek.seek.signals.anywhere import anywhere
from hideseek.seek.signals.matched_filter import Candidates, nearest
from hideseek.seek.signals.public_similarity import PublicSimilarity, Ranking
from hideseek.seek.signals.whitening import CHUNK, Whitening, squares
from hideseek.seek.work import TOUCH

SAMPLE = 2048  # rows that mean and spectrum are estimated from; their order is random

Pixels = Float[Tensor, "n c h w"]


@dataclass(frozen=True)
class WhiteSearch:
    """Finds images in rows by ⟨W(f(x̃) − mean), W(f(s) − mean)⟩ / ‖W(f(s) − mean)‖.

    W makes white what rows and images look like after f; f is the identity, or the square for what is under a mask:
    of a mixture, (Σ λ_j s_j)² = Σ λ_j² s_j² + products of two images, which are noise of mean about zero.
    """

    of: Callable[[Pixels], Pixels]
    mean: Float[Tensor, "c h w"]
    white: Whitening

    @classmethod
    def like(cls, rows: Samples, of: Callable[[Pixels], Pixels]) -> Self:
        """Estimate mean and spectrum from the first rows: what is to be told apart from is rows like these."""
        values = of(rows.pixels(slice(0, SAMPLE)))
        mean = values.mean(0)
        return cls(of, mean, Whitening.of(Samples(values - mean, rows.labels[: len(values)])))

    def __call__(self, images: Pixels) -> Float[Tensor, "n pixels"]:
        """Give what is compared, of length one."""
        return functional.normalize(self.maps(images).flatten(1))

    def maps(self, images: Pixels) -> Pixels:
        """Give what is white in images, in its places."""
        return self.white(self.of(images) - self.mean)

    def search(self, rows: Pixels, images: Samples, count: int) -> tuple[Float[Tensor, "n m"], Int[Tensor, "n m"]]:
        """Give the images that are most alike to each row; where images are larger, at the place that suits best."""
        queries = torch.cat([self(part) for part in rows.split(CHUNK)])
        if images.shape == tuple(rows.shape[1:]):
            return nearest(queries, Candidates(images, self), count)
        large = WhiteSearch.like(images, self.of)
        found = anywhere(
            queries.view_as(rows), images, lambda pixels: large.white(large.of(pixels) - large.mean), count
        )
        return found.scores, found.images


@dataclass(frozen=True)
class WhiteProducts(PublicSimilarity):
    """Inner products of what is white in rows and images; under a mask, in their squares, which it does not change.

    Larger images are tried at every place.
    """

    def search(self, rows: Pixels, release: EncodedRelease, count: int, chance: Randomness, *, masked: bool) -> Ranking:
        """Estimate what rows are like, and search."""
        assert release.public is not None  # noqa: S101 (the attack needs it)
        compare = WhiteSearch.like(release.encoded, squares if masked else _as_they_are)
        return Ranking(*compare.search(rows, release.public, count))

    def work(self, rows: int, task: Task) -> float:
        """Count the products and their ranking, and some fifteen passes that make rows and images white.

        Of larger images, a Fourier transform of each for every row, which is worth four passes over its numbers.
        """
        each = 4 * TOUCH * task.public_pixels or task.pixels + 3 * TOUCH
        passes = rows * task.pixels + task.public * (task.public_pixels or task.pixels)
        return rows * task.public * each + passes * 15 * TOUCH


def _as_they_are(images: Pixels) -> Pixels:
    return images
