"""Averaging encodings of one image: what it was mixed with averages out (InstaHide §2.1 and §5.3)."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records import Attack, EncodedRelease, Evidence, Links, Reason, Reconstruction, Refusal, Task
from hideseek.records.result import Harm
from hideseek.seek.networks.restore_signs import RestoreSigns
from hideseek.seek.networks.unmasked_rows import unmasked_rows
from hideseek.seek.refusals import too_small, without_pairs
from hideseek.seek.run import check
from hideseek.seek.signals.row_sums import grouped, similarities, weighted_sums
from hideseek.seek.work import TOUCH, largest, structural_similarity

LINKED = 50  # queries, at most, whose similarity with every row is kept
LEAST_QUERIES = 10  # that tell something about all rows


@dataclass(frozen=True)
class AverageKnown(Attack[EncodedRelease]):
    """Average all rows that were made for an image; which these are is known (InstaHide §5.3).

    x̂_i is the mean of x̃_r over the rows r that were made for image i. Under a mask it is the mean of |x̃_r|, a guess of
    |x_i|, unless the signs are restored first.
    Deviation: where the weights are known, rows count by them. λ_r the weight of the image and m the mean of all rows,
    x̃_r − m = λ_r (x_i − m) + what others add, so least squares gives x̂_i = m + Σ_r λ_r (x̃_r − m) / Σ_r λ_r²; absolute
    values are not linear in x_i, and get the weighted mean Σ_r λ_r |x̃_r| / Σ_r λ_r.
    """

    sees: ClassVar[type[EncodedRelease]] = EncodedRelease
    needs: ClassVar[tuple[str, ...]] = ("made_for",)
    source: ClassVar[str] = "InstaHide §5.3"

    signs: RestoreSigns | None = None
    """Restore the signs of masked rows first, by a network; else their absolute values are averaged."""

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        """Average the rows of every image."""
        check(self, release)
        assert release.made_for is not None  # noqa: S101 (`needs`)
        rows, remarks = unmasked_rows(release, self.signs, chance)
        images, member = release.made_for.unique(return_inverse=True)
        weights = torch.ones(len(rows)) if release.weights is None else release.weights[:, 0]
        sums, mass = weighted_sums(rows, member, weights), grouped(weights, member)
        if release.weights is not None and (self.signs is not None or not release.scheme.masked):
            centre = rows.mean(0)
            guesses = centre + (sums - mass * centre) / grouped(weights.square(), member)
        else:
            guesses = sums / mass
        return Evidence((Reconstruction(guesses, images, "images"),), remarks)

    def refuses(self, release: EncodedRelease) -> Refusal | None:
        """Refuse knowledge of some rows alone, and what restoring signs refuses, where there are any to restore."""
        if release.made_for is not None and len(release.made_for) != len(release.encoded):
            return Refusal(Reason.INCOMPLETE_SOURCES, {"wanted": len(release.encoded)})
        return None if self.signs is None or not release.scheme.masked else self.signs.refuses(release)

    def work(self, task: Task) -> float:
        """Count some passes over all numbers, and the training of a network if there is one."""
        restoring = _restoring(self.signs, task)
        return restoring + 5 * task.items * task.pixels * TOUCH

    def within(self, work: float, task: Task) -> Self:
        """Train the network, if there is one, on fewer encodings."""
        return replace(self, signs=_fitted(self.signs, work - replace(self, signs=None).work(task), task))


@dataclass(frozen=True)
class AverageSearch(Attack[EncodedRelease]):
    """Average a row with the rows that are most like it (InstaHide §5.3).

    x̂ = (1/m) Σ_{r∈N} x̃_r, where N are the m rows with the largest SSIM(x̃_q, x̃_r). Rows are compared so for n = 50
    images in T = 50 rounds in the paper, with m = 5. Under a mask absolute values are compared and averaged, unless the
    signs are restored first. The similarities themselves are a claim too: that rows which look alike share an image.
    Deviation: the paper does not say over which range it takes SSIM; here it is the range of all rows that are
    compared, max − min, of absolute values or restored signs where these are compared.
    """

    sees: ClassVar[type[EncodedRelease]] = EncodedRelease
    source: ClassVar[str] = "InstaHide §5.3"
    shows: ClassVar[Harm] = Harm.REIDENTIFIED  # what the rows were mixed with is left in averages of so few

    queries: int = 50
    """How many rows, drawn at random, are looked up; at most all."""
    nearest: int = 5
    """m, how many similar rows a row is averaged with."""
    signs: RestoreSigns | None = None
    """Restore the signs of masked rows first, by a network; else absolute values are used."""

    def __post_init__(self) -> None:
        if self.queries < 1 or self.nearest < 1:
            raise BadInput(f"queries and nearest must be 1 or more, not {self.queries} and {self.nearest}.")

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        """Find the rows that are most like some rows, and average them."""
        check(self, release)
        rows, remarks = unmasked_rows(release, self.signs, chance)
        queries = chance.permutation(len(rows))[: self.queries].sort().values
        data_range = float(rows.max() - rows.min()) or 1.0  # rows of one value are as alike as can be
        scores = similarities(rows, queries, data_range)
        others = torch.ones_like(scores, dtype=torch.bool).scatter_(1, queries[:, None], False)
        found = scores.masked_fill(~others, -math.inf).topk(self.nearest).indices
        groups = torch.cat([queries[:, None], found], 1)
        guesses = torch.stack([rows[each].mean(0) for each in groups])
        first, second = others[:LINKED].nonzero(as_tuple=True)
        links = Links(queries[first], second, scores[first, second])
        claim = Reconstruction(guesses, queries, "items", groups=groups)
        return Evidence((claim, links), {**remarks, "data range": data_range})

    def refuses(self, release: EncodedRelease) -> Refusal | None:
        """Refuse a release in which no two rows share an image, or with too few rows, and what restoring refuses."""
        if len(release.encoded) <= self.nearest:
            return Refusal(Reason.TOO_FEW_ROWS, {"given": len(release.encoded), "wanted": self.nearest + 1})
        refusal = without_pairs(release) or too_small(release)
        if refusal is None and self.signs is not None and release.scheme.masked:
            refusal = self.signs.refuses(release)
        return refusal

    def work(self, task: Task) -> float:
        """Count the numbers that are compared, and the training of a network if there is one."""
        compared = min(self.queries, task.items) * task.items
        each = compared * structural_similarity(task.pixels) + 5 * task.items * task.pixels * TOUCH
        return _restoring(self.signs, task) + each

    def within(self, work: float, task: Task) -> Self:
        """Train the network, if there is one, on fewer encodings; then look up fewer rows."""
        fewer = replace(self, signs=_fitted(self.signs, work - replace(self, signs=None).work(task), task))

        def work_of(queries: int) -> float:
            return replace(fewer, queries=queries).work(task)

        return replace(fewer, queries=largest(work_of, LEAST_QUERIES, self.queries, work))


def _restoring(signs: RestoreSigns | None, task: Task) -> float:
    return signs.work(task, task.items) if signs is not None and task.masked else 0.0


def _fitted(signs: RestoreSigns | None, work: float, task: Task) -> RestoreSigns | None:
    return signs.within(work, task, task.items) if signs is not None and task.masked else signs
