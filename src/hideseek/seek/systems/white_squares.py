"""Rows by their squares, made white: how well images, with all their products, explain them."""

import math
from dataclasses import dataclass, replace
from typing import Self

import torch
from jaxtyping import Bool, Float, Int
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
RIDGE = 120.0  # rows of an image that tell as much of its squares as was known before


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

    def some(self, rows: Bool[Tensor, " m"]) -> Self:
        """Give some rows."""
        return replace(self, rows=self.rows[rows], unknown=self.unknown[rows])

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
        """Fit a white square to every image, and one to unknown images, in least squares: Σλ²x² is the mean of rows.

        First one for all images, and how each differs from that then, under a ridge: few rows tell little of it.
        """
        squared, ones = mixtures.squared(), torch.ones_like(self.unknown)
        energy = torch.stack([squared.weights.sum(1), self.unknown], 1)
        scale = torch.tensor([1e-4, 1e-4]) * energy.square().sum(0).mean() + 1e-12
        common = torch.linalg.solve(energy.T @ energy + scale.diag(), energy.T @ self.rows)
        ridge = RIDGE * float(squared.weights.square().mean()) + 1e-9
        each = solved(squared, ones, ridge, squared.gathered(self.rows - energy @ common))[0]
        return torch.cat([common[:1] + each, common[1:]])

    def scores_by_centres(
        self, centres: Float[Tensor, "n_and_one pixels"], slots: RowSlots, sources: Int[Tensor, "m k"] | None
    ) -> Float[Tensor, "m k n"]:
        """Score every image in every slot by white squares of images, the other slots' being subtracted if known.

        −‖z − Σλ²W(x²)‖² / 2σ² but for a constant; σ² is the energy of the row less the mean.
        """
        squares, sizes = slots.weights.square(), centres[:-1].square().sum(1)
        products, grams = self.rows @ centres.T, centres @ centres.T
        noise = (self.rows - self.rows.mean(0)).square().mean(1, keepdim=True).clamp_min(1e-12)
        scores = []
        for column in range(squares.shape[1]):
            left = products - self.unknown[:, None] * grams[-1]
            if sources is not None:
                for other in range(squares.shape[1]):
                    if other != column:
                        left = left - squares[:, other, None] * grams[sources[:, other]]
            weight = squares[:, column, None]
            gains = 2 * weight * left[:, :-1] - weight.square() * sizes
            scores.append(gated(gains / (2 * noise), slots, column))
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
    return white.images(spectra / white.deviations)
