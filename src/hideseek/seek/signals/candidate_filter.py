"""How well candidate images fit rows, of which nothing else is known: a whitened matched filter, and its likelihoods.

A row is λ x + rest, and the rest has the spectrum of rows and, around every place, the energy that is seen there. With
z the white row, q the white candidate and ω one over the local energy of z, s = ⟨ω∘z, q⟩ / g with g² = ⟨ω, q²⟩ is
about a unit normal where the candidate is not in the row, of mean λ g where it is. Under a mask of signs the same holds
for squares: x̃² = Σ λ_j² x_j² + products of two images, whose mean is about zero, so that λ² stands for λ.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.records import Samples
from hideseek.seek.signals.matched_filter import inverse_energy
from hideseek.seek.signals.white_search import SAMPLE, Pixels, WhiteSearch
from hideseek.seek.signals.whitening import CHUNK, squares

BLOCK = 1 << 24  # scores at a time
FEWEST = 30  # rows, or images, that a mean and a deviation are worth estimating from
TINY = 1e-20
GAINS = (1.0, 0.5, 0.25)  # of what is expected where a candidate is in a row
STEEPEST = 80.0  # logarithm of a likelihood ratio of one row


@dataclass(frozen=True)
class CandidateFilter:
    """Scores candidates in rows; `usual` are the mean and the deviation of each candidate's scores over rows."""

    search: WhiteSearch
    candidates: Float[Tensor, "n pixels"]
    own: Float[Tensor, "o pixels"] | None
    usual: tuple[Float[Tensor, " n"], Float[Tensor, " n"]] | None = None

    @classmethod
    def of(cls, rows: Samples, candidates: Samples, own: Samples | None, *, masked: bool) -> Self:
        """Make candidates white as rows are, and see how they usually score: in most rows they are not."""
        search = WhiteSearch.like(rows, squares if masked else _as_they_are)
        made = cls(search, _white(search, candidates), None if own is None else _white(search, own))
        if len(rows) < FEWEST:
            return made
        step = max(1, BLOCK // max(1, len(candidates)))
        scores, _ = made.scores(rows.pixels(slice(0, min(SAMPLE, step))))
        middle = scores.median(0).values
        spread = (scores - middle).abs().median(0).values * 1.4826  # of a normal variable: its deviation
        return replace(made, usual=(middle, spread.clamp_min(0.1)))

    def scores(self, rows: Pixels) -> tuple[Float[Tensor, "m n"], Float[Tensor, "m n"]]:
        """Give s and g of every row and candidate.

        Scores of a row are put in deviations of those of the attacker's own images, which are not in it; without such
        images, of all candidates'. So are those of a candidate, over rows.
        """
        white = self.search.maps(rows)
        weights = inverse_energy(white).flatten(1)
        weighted = weights * white.flatten(1)
        scores, gains = _filtered(weighted, weights, self.candidates)
        others = scores if self.own is None else _filtered(weighted, weights, self.own)[0]
        if others.shape[1] >= FEWEST:
            centre, spread = others.mean(1, keepdim=True), others.std(1, keepdim=True).clamp_min(0.1)
            scores, gains = (scores - centre) / spread, gains / spread
        if self.usual is not None:
            scores, gains = (scores - self.usual[0]) / self.usual[1], gains / self.usual[1]
        return scores, gains

    def log_likelihood_ratios(
        self, rows: Samples, weights: Float[Tensor, "m k"], images: int
    ) -> Iterator[tuple[slice, Float[Tensor, "b n"]]]:
        """Give log p(row | candidate is private) / p(row | it is not), block by block of rows.

        A private image is in k of a round's n rows, with any of their weights: log (1 − k/n + Σ_j E_a e^(l_ja) / n)
        with l_ja = a λ_j g s − (a λ_j g)² / 2, where the mean is over a = 1, ½, ¼: images are no Gaussians, and weights
        may be less than labels say, so that a candidate may fit less well than λ g. A row alone counts by at most e^80.
        """
        masked, k = self.search.of is squares, weights.shape[1]
        step = max(1, min(CHUNK, BLOCK // max(1, len(self.candidates))))
        share = min(0.5, k / max(1, images))
        for first in range(0, len(rows), step):
            some = slice(first, min(first + step, len(rows)))
            scores, gains = self.scores(rows.pixels(some))
            strengths = weights[some].square() if masked else weights[some]
            total = torch.full_like(scores, -math.inf)
            for strength in strengths.T[..., None]:
                for part in GAINS:
                    mean = part * strength * gains
                    total = torch.logaddexp(total, mean * scores - mean.square() / 2)
            inside = (total - math.log(k * len(GAINS))).clamp(-STEEPEST, STEEPEST) + math.log(share)
            yield some, torch.logaddexp(inside, torch.tensor(math.log(1 - share)))


def _filtered(weighted: Tensor, weights: Tensor, images: Tensor) -> tuple[Tensor, Tensor]:
    gains = (weights @ images.square().T).clamp_min(TINY).sqrt()
    return (weighted @ images.T) / gains, gains


def _white(search: WhiteSearch, images: Samples) -> Float[Tensor, "n pixels"]:
    parts = [search.maps(images.pixels(slice(first, first + CHUNK))) for first in range(0, len(images), CHUNK)]
    return torch.cat(parts).flatten(1)


def _as_they_are(images: Pixels) -> Pixels:
    return images
