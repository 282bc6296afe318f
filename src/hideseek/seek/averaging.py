"""Averaging encodings of one image: what it was mixed with averages out (InstaHide §2.1 and §5.3)."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.errors import BadInput
from hideseek.models.place import device
from hideseek.progress import track
from hideseek.randomness import Randomness
from hideseek.records import Attack, EncodedRelease, Evidence, Links, Reconstruction
from hideseek.seek.demask import Demask
from hideseek.similarity import ssim

BLOCK = 1 << 18  # pixels that are added up or compared at a time
LINKED = 50  # queries, at most, whose similarity with every row is kept


@dataclass(frozen=True)
class AverageKnown(Attack[EncodedRelease]):
    """Average all rows that were made for an image: the stronger attack of InstaHide §5.3, who knows which they are.

    x̂_i is the mean of x̃_r over the rows r of image i, the first of their known sources. Under a mask it is the mean of
    |x̃_r|, a guess of |x_i|, unless the signs are restored first (`demask`).
    Deviation: where the weights are known, rows count by them. λ_r the weight of the image and m the mean of all rows,
    x̃_r − m = λ_r (x_i − m) + what others add, so least squares gives x̂_i = m + Σ_r λ_r (x̃_r − m) / Σ_r λ_r²; absolute
    values are not linear in x_i, and get the weighted mean Σ_r λ_r |x̃_r| / Σ_r λ_r.
    """

    sees: ClassVar[type[EncodedRelease]] = EncodedRelease
    needs: ClassVar[tuple[str, ...]] = ("sources",)

    demask: bool = False
    """Restore the signs of masked rows first, by a network; else their absolute values are averaged."""
    demasking: Demask = field(default_factory=Demask)
    """How that network is trained."""

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        """Average the rows of every image."""
        if release.sources is None or release.sources.shape[1] < 1:
            raise BadInput("this attack needs to know which image a row was made for: hide with --give-away sources.")
        rows, remarks = _readable(release, self.demasking if self.demask else None, chance)
        images, member = release.sources[:, 0].unique(return_inverse=True)
        weights = torch.ones(len(rows)) if release.weights is None else release.weights[:, 0]
        sums, mass = _weighted_sums(rows, member, weights), _grouped(weights, member)
        if release.weights is not None and (self.demask or not release.scheme.masked):
            centre = rows.mean(0)
            guesses = centre + (sums - mass * centre) / _grouped(weights.square(), member)
        else:
            guesses = sums / mass
        return Evidence((Reconstruction(guesses, images, "images"),), remarks)


@dataclass(frozen=True)
class AverageSearch(Attack[EncodedRelease]):
    """Average a row with the m rows most like it: the weaker attack of InstaHide §5.3, who must find them first.

    Rows are compared by SSIM, for n = 50 images in T = 50 rounds in the paper, with m = 5. Under a mask absolute values
    are compared and averaged, unless the signs are restored first (`demask`). The similarities themselves are a claim
    too: that rows which look alike share an image.
    Deviation: the paper does not say over which range it takes SSIM; here it is the range of all rows that are
    compared, max − min, of absolute values or restored signs where these are compared.
    """

    sees: ClassVar[type[EncodedRelease]] = EncodedRelease

    queries: int = 50
    """How many rows, drawn at random, are looked up; at most all."""
    nearest: int = 5
    """m, how many similar rows a row is averaged with."""
    demask: bool = False
    """Restore the signs of masked rows first, by a network; else absolute values are used."""
    demasking: Demask = field(default_factory=Demask)
    """How that network is trained."""

    def __post_init__(self) -> None:
        if self.queries < 1 or self.nearest < 1:
            raise BadInput(f"queries and nearest must be 1 or more, not {self.queries} and {self.nearest}.")

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        """Find the rows that are most like some rows, and average them."""
        if len(release.encoded) <= self.nearest:
            raise BadInput(f"{len(release.encoded)} rows have no {self.nearest} others each: lower nearest.")
        rows, remarks = _readable(release, self.demasking if self.demask else None, chance)
        queries = chance.permutation(len(rows))[: self.queries].sort().values
        data_range = float(rows.max() - rows.min()) or 1.0  # rows of one value are as alike as can be
        scores = _similarities(rows, queries, data_range)
        others = torch.ones_like(scores, dtype=torch.bool).scatter_(1, queries[:, None], False)
        found = scores.masked_fill(~others, -math.inf).topk(self.nearest).indices
        guesses = torch.stack([rows[each].mean(0) for each in torch.cat([queries[:, None], found], 1)])
        first, second = others[:LINKED].nonzero(as_tuple=True)
        links = Links(queries[first], second, scores[first, second])
        return Evidence((Reconstruction(guesses, queries, "rows"), links), {**remarks, "data range": data_range})


def _readable(
    release: EncodedRelease, demask: Demask | None, chance: Randomness
) -> tuple[Float[Tensor, "n c h w"], dict[str, Any]]:
    """Give the rows without their masks: as they are, with signs restored, or as absolute values.

    A restored pixel is the mean of what it may have been: in an average, a sign that is a coin toss shall not count.
    """
    rows = release.encoded.pixels()
    if not release.scheme.masked:
        return rows, {}
    if demask is None:
        return rows.abs(), {}
    restore = demask.train(release, chance)
    return restore.expected(rows), {"wrong signs before": restore.before, "wrong signs": restore.wrong}


def _weighted_sums(
    rows: Float[Tensor, "n c h w"], member: Int[Tensor, " n"], weights: Float[Tensor, " n"]
) -> Float[Tensor, "groups c h w"]:
    """Give Σ_r w_r x̃_r over the members r of every group."""
    sums = torch.zeros(int(member.max()) + 1, *rows.shape[1:])
    size = _rows_at_a_time(rows)
    for start in track(range(0, len(rows), size), "averaging"):
        some = slice(start, start + size)
        sums.index_add_(0, member[some], rows[some] * weights[some, None, None, None])
    return sums


def _grouped(values: Float[Tensor, " n"], member: Int[Tensor, " n"]) -> Float[Tensor, "groups 1 1 1"]:
    """Give the sum of the values of every group."""
    return member.bincount(values)[:, None, None, None].to(values)


def _similarities(
    rows: Float[Tensor, "n c h w"], queries: Int[Tensor, " q"], data_range: float
) -> Float[Tensor, "q n"]:
    """Give the SSIM of some rows with all; a block of rows meets every query while it is in the cache."""
    scores = torch.empty(len(queries), len(rows))
    size, place = _rows_at_a_time(rows), device()
    asked = rows[queries].to(place)
    for start in track(range(0, len(rows), size), "comparing rows"):
        block = rows[start : start + size].to(place)
        for number, query in enumerate(asked):
            scores[number, start : start + size] = ssim(query.expand_as(block), block, data_range).cpu()
    return scores


def _rows_at_a_time(rows: Float[Tensor, "n c h w"]) -> int:
    return max(1, BLOCK // math.prod(rows.shape[1:]))
