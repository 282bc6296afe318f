"""Finding several known images in a masked row, one after another.

The mask leaves the square of a row, x̃² = (m + r)², where m is what is known of it and r the rest. Three statistics tell
whether an image p is in the rest, and each has errors of its own, so the squares of their scores are added:
- squares: p² in x̃² − m², as for the first image;
- cross terms: 2 m∘p in the same, the stronger the more is known;
- products: p in σ̂∘|x̃| − m, where σ̂ are the signs as far as m and neighbours tell them (`soft_signs`).
All are taken of what is white in them, and places count by the inverse of the local energy of the residual.
"""

from copy import copy
from typing import Self

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from hideseek.chance import Randomness
from hideseek.records import Samples
from hideseek.seek.signals.matched_filter import TINY, BestCandidates, Candidates, inverse_energy
from hideseek.seek.signals.public_sets import Found, Pixels, mixtures
from hideseek.seek.signals.soft_signs import soft_signs
from hideseek.seek.signals.whitening import CHUNK, Whitening

SAMPLE = 4096  # rows and images that spectra are estimated from
FEW, ADDED = 32, 1000  # rows that are too few for that, and mixtures of public images that are added to them
STEPS = 6  # of Gauss and Newton, for the weights
_WIDTH, _LEAST = 5, 0.05  # of local energy: pixels on a side, and the share of the mean that is added
_START, _FARTHEST = 0.15, 0.1  # the first guess of a weight, and how far it is moved at once
_SMALLEST, _LARGEST = 0.01, 1.0  # that a weight may be


class MaskedPursuit:
    """Searches masked rows for public images, given those that were found before."""

    def __init__(self, rows: Pixels, public: Samples, mixed: int, chance: Randomness) -> None:
        """Estimate the spectra of squares from rows of `mixed` images, those of products from public images."""
        if len(rows) < FEW:
            rows = torch.cat([rows, mixtures(public, mixed, ADDED, chance)])
        squared = rows[:SAMPLE].square()
        self.mean = squared.mean(0)
        self.squares = _whitening(squared - self.mean)
        sample = public.pixels(slice(0, SAMPLE))
        self.typical = sample.square().mean(0)
        self.plain = _whitening(sample - sample.mean(0))
        self._compare(public)

    def over(self, public: Samples) -> Self:
        """Give a search of other public images, with the same spectra."""
        other = copy(self)
        other._compare(public)
        return other

    def _compare(self, public: Samples) -> None:
        self.public = public
        self._squares = Candidates(public, lambda pixels: _each(self.squares, pixels.square() - self.typical))
        self._plain = Candidates(public, lambda pixels: _each(self.plain, pixels))
        self.pixels = Candidates(public, lambda pixels: pixels.flatten(1))
        self.changes = Candidates(public, _changes)

    def first(self, rows: Pixels, count: int) -> tuple[Float[Tensor, "n m"], Int[Tensor, "n m"]]:
        """Rank public images where nothing is known yet: by squares."""
        residual = functional.normalize(self.squares(rows.square() - self.mean).flatten(1))
        best = BestCandidates(len(rows), min(count, len(self.public)), rows.device)
        for start, block in self._squares:
            best.take(slice(None), residual @ functional.normalize(block).T, start)
        return best.scores, best.places

    def next(self, rows: Pixels, found: Found, count: int) -> tuple[Float[Tensor, "n m"], Int[Tensor, "n m"]]:
        """Rank public images for what is left of rows."""
        known = found.sum(self.public)
        residual = self.squares(rows.square() - known.square() - self.mean)
        residual = residual - _shape(residual, self.squares(self.typical[None]))
        weights = inverse_local_energy(residual)
        signs, _ = soft_signs(rows, known)
        rest = self.plain(signs * rows - known)
        rest_weights = inverse_local_energy(rest)
        pooled = functional.avg_pool2d(weights, 3, 1, 1)
        statistics = (
            (self._squares, weights * residual, weights),
            (self.pixels, 2 * self.squares.transposed(weights * residual) * known, 4 * known.square() * pooled),
            (self._plain, rest_weights * rest, rest_weights),
        )
        best = BestCandidates(len(rows), min(count, len(self.public)), rows.device)
        spreads: list[Tensor] = []
        for blocks in zip(*(each[0] for each in statistics), strict=True):
            total = rows.new_zeros(len(rows), len(blocks[0][1]))
            for nth, ((_, block), (_, product, weight)) in enumerate(zip(blocks, statistics, strict=True)):
                score = product.flatten(1) @ block.T
                score /= (weight.flatten(1) @ block.square().T).clamp_min(TINY).sqrt()
                if len(spreads) == nth:
                    spreads.append(score.std(1, keepdim=True).clamp_min(TINY))
                total += (score / spreads[nth]).clamp_min(0).square()
            start = blocks[0][0]
            inside = (found.places >= start) & (found.places < start + total.shape[1])
            row, column = inside.nonzero(as_tuple=True)
            total[row, found.places[row, column] - start] = -torch.inf
            best.take(slice(None), total, start)
        return best.scores, best.places

    def fit(self, rows: Pixels, places: Int[Tensor, "n j"], start: Float[Tensor, "n i"], steps: int = STEPS) -> Found:
        """Fit weights to the white squares of rows, |x̃|² ≈ (Σ μ_j p_j)² + μ₀ · mean square, by Gauss and Newton.

        `start` has first guesses of the first weights.
        """
        count = places.shape[1]
        images = self.public.pixels(places.flatten()).view(*places.shape, *self.public.shape)
        weights = torch.cat([start, start.new_full((len(start), count - start.shape[1]), _START)], 1)
        target, typical = self.squares(rows.square()), self.squares(self.typical[None])
        for _ in range(steps):
            known = (weights[:, :, None, None, None] * images).sum(1)
            residual = target - self.squares(known.square())
            inverse = inverse_local_energy(residual - _shape(residual, typical)).flatten(1)
            slopes = self.squares((2 * known[:, None] * images).flatten(0, 1)).view(len(rows), count, -1)
            slopes = torch.cat([slopes, typical.flatten(1).expand(len(rows), 1, -1)], 1)
            weighted = slopes * inverse[:, None]
            gram = weighted @ slopes.mT
            gram = gram + torch.diag_embed(1e-4 * gram.diagonal(dim1=1, dim2=2) + TINY)
            step = torch.linalg.solve(gram, weighted @ residual.flatten(1)[..., None])[:, :count, 0]
            weights = (weights + step.clamp(-_FARTHEST, _FARTHEST)).clamp(_SMALLEST, _LARGEST)
        return Found(places, weights)


def inverse_local_energy(residual: Pixels) -> Pixels:
    """Give one over the local energy of a white residual, over a wider neighbourhood than for the first image."""
    return inverse_energy(residual, _WIDTH, _LEAST)


def _shape(residual: Pixels, typical: Pixels) -> Pixels:
    """Give the part of residuals that is like the mean square of all images, whose share in a row is not known."""
    share = (residual * typical).sum((1, 2, 3), keepdim=True) / typical.square().sum().clamp_min(TINY)
    return share * typical


def _whitening(images: Pixels) -> Whitening:
    return Whitening.of(Samples(images, torch.empty(len(images), 0)))


def _changes(images: Pixels) -> Float[Tensor, "n 1"]:
    """Give the root of the sum of squares of all differences of neighbours."""
    across, down = images[..., 1:] - images[..., :-1], images[..., 1:, :] - images[..., :-1, :]
    total = sum(each.square().flatten(1).sum(1, keepdim=True) for each in (across, down))
    return torch.as_tensor(total).clamp_min(TINY).sqrt()


def _each(white: Whitening, images: Pixels) -> Float[Tensor, "n pixels"]:
    return torch.cat([white(part).flatten(1) for part in images.split(CHUNK)])
