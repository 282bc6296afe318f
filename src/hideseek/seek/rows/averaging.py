"""Averaging encodings of one image: what it was mixed with averages out (InstaHide §2.1 and §5.3)."""

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import torch

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records import Attack, EncodedRelease, Evidence, Links, Reconstruction, Task
from hideseek.seek.costs import SSIM, VALUE, largest
from hideseek.seek.refusals import too_small, without_pairs
from hideseek.seek.rows.demask import Demask
from hideseek.seek.rows.unmasked_rows import grouped, similarities, unmasked_rows, weighted_sums
from hideseek.seek.run import check

LINKED = 50  # queries, at most, whose similarity with every row is kept
LEAST_QUERIES = 10  # that tell something about all rows


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
    source: ClassVar[str] = "InstaHide §5.3"

    demask: bool = False
    """Restore the signs of masked rows first, by a network; else their absolute values are averaged."""
    demasking: Demask = field(default_factory=Demask)
    """How that network is trained."""

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        """Average the rows of every image."""
        check(self, release)
        assert release.sources is not None  # noqa: S101 (`needs`)
        rows, remarks = unmasked_rows(release, self.demasking if self.demask else None, chance)
        images, member = release.sources[:, 0].unique(return_inverse=True)
        weights = torch.ones(len(rows)) if release.weights is None else release.weights[:, 0]
        sums, mass = weighted_sums(rows, member, weights), grouped(weights, member)
        if release.weights is not None and (self.demask or not release.scheme.masked):
            centre = rows.mean(0)
            guesses = centre + (sums - mass * centre) / grouped(weights.square(), member)
        else:
            guesses = sums / mass
        return Evidence((Reconstruction(guesses, images, "images"),), remarks)

    def refuses(self, release: EncodedRelease) -> str:
        """Refuse sources that name no image, and what demasking refuses."""
        if release.sources is not None and release.sources.shape[1] < 1:
            return "this attack needs to know which image a row was made for: hide with --give-away sources."
        return self.demasking.refuses(release) if self.demask and release.scheme.masked else ""

    def effort(self, task: Task) -> float:
        """Count the numbers that are added up, and the training of a network if there is one."""
        training = self.demasking.effort(task) if self.demask and task.masked else 0.0
        return training + 3 * task.items * task.pixels * VALUE

    def within(self, seconds: float, task: Task) -> Self:
        """Train the network, if there is one, on fewer encodings."""
        if not self.demask or not task.masked:
            return self
        left = seconds - replace(self, demask=False).effort(task)
        return replace(self, demasking=self.demasking.within(left, task))


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
    source: ClassVar[str] = "InstaHide §5.3"

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
        check(self, release)
        rows, remarks = unmasked_rows(release, self.demasking if self.demask else None, chance)
        queries = chance.permutation(len(rows))[: self.queries].sort().values
        data_range = float(rows.max() - rows.min()) or 1.0  # rows of one value are as alike as can be
        scores = similarities(rows, queries, data_range)
        others = torch.ones_like(scores, dtype=torch.bool).scatter_(1, queries[:, None], False)
        found = scores.masked_fill(~others, -math.inf).topk(self.nearest).indices
        guesses = torch.stack([rows[each].mean(0) for each in torch.cat([queries[:, None], found], 1)])
        first, second = others[:LINKED].nonzero(as_tuple=True)
        links = Links(queries[first], second, scores[first, second])
        return Evidence((Reconstruction(guesses, queries, "rows"), links), {**remarks, "data range": data_range})

    def refuses(self, release: EncodedRelease) -> str:
        """Refuse a release in which no two rows share an image, or with too few rows, and what demasking refuses."""
        if len(release.encoded) <= self.nearest:
            return f"{len(release.encoded)} rows have no {self.nearest} others each: lower nearest."
        refusal = without_pairs(release) or too_small(release)
        return refusal or (self.demasking.refuses(release) if self.demask and release.scheme.masked else "")

    def effort(self, task: Task) -> float:
        """Count the numbers that are compared, and the training of a network if there is one."""
        training = self.demasking.effort(task) if self.demask and task.masked else 0.0
        compared = min(self.queries, task.items) * task.items
        return training + (compared * SSIM + 3 * task.items * VALUE) * task.pixels

    def within(self, seconds: float, task: Task) -> Self:
        """Train the network, if there is one, on fewer encodings; then look up fewer rows."""
        attack = self
        if self.demask and task.masked:
            left = seconds - replace(self, demask=False).effort(task)
            attack = replace(self, demasking=self.demasking.within(left, task))
        return largest(lambda queries: replace(attack, queries=queries), LEAST_QUERIES, self.queries, seconds, task)
