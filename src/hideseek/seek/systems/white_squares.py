"""Rows by their squares, made white: how well images, with all their products, explain them."""

import math
from dataclasses import dataclass
from typing import Self

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.records import Samples
from hideseek.seek.signals.row_slots import RowSlots
from hideseek.seek.signals.whitening import CHUNK, Whitening
from hideseek.seek.systems.mixture_solve import solved
from hideseek.seek.systems.mixtures import Mixtures
from hideseek.seek.systems.round_assignment import FORBIDDEN, gated

SHORTLIST = 10  # images a slot whose score is exact
BLOCK = 256  # rows whose candidates are compared at a time
BEHIND = 1.0  # by how much more than all exact scores the others are worse
RIDGE = 0.01  # of the mean energy of an image's weights


@dataclass(frozen=True)
class WhiteSquares:
    """Squares of rows in frequencies, each divided by its deviation: inner products are those of white squares."""

    white: Whitening
    rows: Float[Tensor, "m pixels"]
    unknown: Float[Tensor, " m"]
    """Σλ² of the images in a row that are not looked for."""

    @classmethod
    def of(cls, magnitudes: Float[Tensor, "m c h w"], unknown: Float[Tensor, " m"]) -> Self:
        """Square rows, and make them white by their own spectrum."""
        mean = magnitudes.square().mean(0)
        centred = magnitudes.square().sub_(mean)
        white = Whitening.of(Samples(centred, centred.new_empty(len(centred), 0)))
        parts = [_spectrum(white, part.square()).flatten(1) for part in magnitudes.split(CHUNK)]
        return cls(white, torch.cat(parts), unknown)

    def rooted(self) -> Float[Tensor, "m pixels"]:
        """Give roots of white squares in places, signs kept, less their mean, of unit length: these link rows best."""
        shape = (-1, *self.white.deviations.shape)
        mean = self.rows.mean(0)
        parts = []
        for part in self.rows.split(CHUNK):
            placed = self.white.rows.T @ (part - mean).view(shape) @ self.white.columns
            parts.append(torch.nn.functional.normalize((placed.sign() * placed.abs().sqrt()).flatten(1)))
        return torch.cat(parts)

    def spectra(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n pixels"]:
        """Give what images, or squares and products of them, add to rows."""
        return torch.cat([_spectrum(self.white, part).flatten(1) for part in images.split(CHUNK)])

    def fitted(self, mixtures: Mixtures) -> Float[Tensor, "n_and_one pixels"]:
        """Fit a white square to every image, and one to unknown images, in least squares: Σλ²x² is the mean of rows."""
        squared = mixtures.squared()
        extra = torch.full_like(squared.sources[:, :1], squared.images)
        sources = torch.cat([squared.sources, extra], 1)
        weights = torch.cat([squared.weights, self.unknown[:, None]], 1)
        both, ones = Mixtures(sources, weights, squared.images + 1), torch.ones_like(self.unknown)
        ridge = RIDGE * float(both.diagonal(ones).mean()) + 1e-9
        return solved(both, ones, ridge, both.gathered(self.rows))[0]

    def scores_by_centres(
        self, centres: Float[Tensor, "n_and_one pixels"], slots: RowSlots, sources: Int[Tensor, "m k"] | None
    ) -> Float[Tensor, "m k n"]:
        """Score every image in every slot by white squares of images, the other slots' being subtracted if known."""
        squares, sizes = slots.weights.square(), centres[:-1].square().sum(1)
        products, grams = self.rows @ centres.T, centres @ centres.T
        scores = []
        for column in range(squares.shape[1]):
            left = products - self.unknown[:, None] * grams[-1]
            if sources is not None:
                for other in range(squares.shape[1]):
                    if other != column:
                        left = left - squares[:, other, None] * grams[sources[:, other]]
            weight = squares[:, column, None]
            scores.append(gated(2 * weight * left[:, :-1] - weight.square() * sizes, slots, column))
        return torch.stack(scores, 1)

    def scores(
        self,
        images: Float[Tensor, "n c h w"],
        variance: Float[Tensor, "c h w"],
        slots: RowSlots,
        sources: Int[Tensor, "m k"],
    ) -> Float[Tensor, "m k n"]:
        """Score every image in every slot, given the others of its row: −‖z − W(M + λx)²‖² / 2σ² but for a constant.

        M is the sum of the others. Expanded, all but the last term are products of matrices; that one is found for
        the images that are best without it. σ² is what is left of the row as it is explained now.
        """
        flat = images.flatten(1)
        squares = images.square()
        sizes = _spectrum(self.white, squares).flatten(1).square().sum(1)
        answer = torch.empty(len(self.rows), sources.shape[1], len(images))
        mixtures = Mixtures(sources, slots.weights, len(images))
        for first in range(0, len(self.rows), BLOCK):
            some = slice(first, first + BLOCK)
            part = mixtures.some(some)
            total = part.mixed(flat).view(-1, *images.shape[1:])
            level = self.unknown[some, None, None, None] * variance
            left = self.rows[some] - _spectrum(self.white, total.square() + level).flatten(1)
            noise = left.square().mean(1, keepdim=True).clamp_min(1e-12)
            places = slots.some(some)
            for column in range(sources.shape[1]):
                weight = part.weights[:, column]
                others = total - weight[:, None, None, None] * images[part.sources[:, column]]
                rest = self.rows[some] - _spectrum(self.white, others.square() + level).flatten(1)
                back = _adjoint(self.white, rest.view_as(others))
                linear = 4 * weight[:, None] * ((others * back).flatten(1) @ flat.T)
                linear += 2 * weight.square()[:, None] * (back.flatten(1) @ squares.flatten(1).T)
                rough = gated(linear - weight.pow(4)[:, None] * sizes, places, column)
                best = rough.topk(min(SHORTLIST, len(images))).indices
                found = images[best]
                made = 2 * weight[:, None, None, None, None] * others[:, None] * found
                made += weight.square()[:, None, None, None, None] * found.square()
                norms = _spectrum(self.white, made.flatten(0, 1)).flatten(1).square().sum(1).view_as(best)
                exact = linear.gather(1, best) - norms
                allowed = rough.gather(1, best) > FORBIDDEN / 2
                lowest = exact.masked_fill(~allowed, math.inf).amin(1, keepdim=True)
                margin = rough.gather(1, best).masked_fill(~allowed, math.inf).amin(1, keepdim=True)
                rough = (rough - margin).clamp_max(0) + lowest - BEHIND * noise
                scored = rough.scatter(1, best, exact) / (2 * noise)
                answer[some, column] = gated(scored, places, column)
        return answer


def _spectrum(white: Whitening, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
    """Give the white spectrum of images."""
    return white.spectrum(images) / white.deviations


def _adjoint(white: Whitening, spectra: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
    """Give the images whose products with others are those of these white spectra with theirs."""
    placed = white.rows.T @ (spectra / white.deviations) @ white.columns
    return (white.colours @ placed.flatten(2)).view_as(placed)
