"""Which public images are in masked rows of which a part is known: three statistics, each with errors of its own.

x̃² = (m + r)², m being what is known of a row and r the rest. An image p of the rest shows
- in squares: as p² in x̃² − m²;
- in cross terms: as 2 m∘p in the same;
- in products: as p in E s − m, the signs being told by m and by neighbours (`neighbour_signs`).
All are taken of what is white in them, places count by the inverse of the local energy, and the squares of scores, each
in units of its spread over public images, are added.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from hideseek.records import Samples
from hideseek.seek.signals.masked_pursuit import inverse_local_energy
from hideseek.seek.signals.whitening import Whitening
from hideseek.seek.systems.neighbour_signs import Predictor, soft_rows
from hideseek.seek.systems.phase_retrieval import PhaseProblem

SAMPLE = 4096  # rows and images that spectra are told from
PUBLIC = 2048  # images that are compared at a time
TINY = 1e-12

Pixels = Float[Tensor, "n c h w"]


@dataclass(frozen=True)
class PublicScores:
    """Compares rows with all public images."""

    public: Samples
    squares: Whitening
    plain: Whitening
    typical: Float[Tensor, "c h w"]
    mean: Float[Tensor, "c h w"]
    variance: Float[Tensor, "c h w"]
    predictor: Predictor

    @classmethod
    def of(cls, problem: PhaseProblem, public: Samples) -> Self:
        """Measure the spectrum of squares on rows, that of products on public images."""
        rows = problem.magnitudes[:SAMPLE].square()
        images = public.pixels(slice(0, SAMPLE))
        mean = images.mean(0)
        squares, plain = (
            Whitening.of(Samples(each, each.new_empty(len(each), 0))) for each in (rows - rows.mean(0), images - mean)
        )
        predictor = Predictor.of(problem.spectrum)
        return cls(public, squares, plain, images.square().mean(0), mean, problem.spectrum.variance, predictor)

    def best(
        self,
        magnitudes: Pixels,
        known: Pixels,
        left: Float[Tensor, "n k"],
        doubt: Float[Tensor, " n"],
        taken: Int[Tensor, "n k"],
    ) -> Int[Tensor, " n"]:
        """Give for each row the public image, none of those taken, that is likeliest in it.

        `left` are the weights of images that are unknown (0: known), `doubt` is of what is known.
        """
        energy, mass = left.square().sum(1)[:, None, None, None], left.sum(1)[:, None, None, None]
        expected = known + mass * self.mean
        white = self.squares(magnitudes.square() - expected.square() - energy * self.typical)
        white = white - white.mean((1, 2, 3), keepdim=True)
        local = inverse_local_energy(white)
        crossing = 2 * self.squares.transposed(local * white) * expected
        weighing = 4 * expected.square() * functional.avg_pool2d(local, 3, 1, 1)
        signed = soft_rows(magnitudes, expected, doubt[:, None, None, None] + energy, self.variance, self.predictor)
        rest = self.plain(signed - known)
        rest = inverse_local_energy(rest) * rest
        top = torch.full((len(known),), -torch.inf)
        found = torch.zeros(len(known), dtype=torch.int64)
        spreads: list[Tensor] = []
        for first, pixels in self._blocks():
            total = pixels.new_zeros(len(known), len(pixels))
            plain = pixels.flatten(1)
            lengths = (weighing.flatten(1) @ plain.square().T).clamp_min(TINY).sqrt()
            unit_squares = functional.normalize(self.squares(pixels.square() - self.typical).flatten(1))
            unit_plain = functional.normalize(self.plain(pixels - self.mean).flatten(1))
            scores = (
                (local * white).flatten(1) @ unit_squares.T,
                (crossing.flatten(1) @ plain.T) / lengths,
                rest.flatten(1) @ unit_plain.T,
            )
            for number, score in enumerate(scores):
                if len(spreads) == number:
                    spreads.append(score.std(1, keepdim=True, correction=0).clamp_min(TINY))
                total += (score / spreads[number]).clamp_min(0).square()
            inside = (taken >= first) & (taken < first + len(pixels))
            row, column = inside.nonzero(as_tuple=True)
            total[row, taken[row, column] - first] = -torch.inf
            value, place = total.max(1)
            found, top = torch.where(value > top, place + first, found), torch.maximum(value, top)
        return found

    def _blocks(self) -> Iterator[tuple[int, Pixels]]:
        for first in range(0, len(self.public), PUBLIC):
            yield first, self.public.pixels(slice(first, first + PUBLIC))
