"""Which image is in a row, and where, now that images are known: each is tried at every place beside the others."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from hideseek.progress import track
from hideseek.records.moving import moved
from hideseek.seek.signals.shifted_maps import Shifts, matches_work
from hideseek.seek.signals.whitening import Whitening
from hideseek.seek.systems.moved_mixtures import MovedMixtures

TRIED = 4  # places of an image that are compared exactly


@dataclass(frozen=True)
class Fits:
    """How well every image explains every row beside the row's others, at its best place; −∞ where it was not tried."""

    scores: Float[Tensor, "m n"]
    moves: Float[Tensor, "m n 2 3"]


@dataclass(frozen=True)
class Target:
    """What mixtures must explain, in white space: rows, or, under a mask, their squares without what others add."""

    values: Float[Tensor, "m c h w"]
    white: Whitening
    masked: bool

    def left(self, rows: Int[Tensor, " some"], mixed: Float[Tensor, "some c h w"]) -> Float[Tensor, "some c h w"]:
        """Give what some rows have beyond mixtures, in white space, with large values drawn towards the others."""
        left = self.white(self.values[rows] - (mixed.square() if self.masked else mixed))
        return left.sign() * left.abs().sqrt()

    def added(
        self, rest: Float[Tensor, "some c h w"], part: Float[Tensor, "some c h w"]
    ) -> Float[Tensor, "some c h w"]:
        """Give what an image adds beside others, in white space."""
        return self.white((2 * rest + part) * part if self.masked else part)


def fits(
    target: Target,
    images: Float[Tensor, "n c h w"],
    mixtures: MovedMixtures,
    weights: Float[Tensor, "m n"],
    allowed: Bool[Tensor, "m n"],
    shifts: Shifts,
) -> Fits:
    """Try every image that is allowed in the place of each image of a row, the others staying.

    With o what the others add, and a = λ M x: a² + 2 a o must be what is left of the square beyond o². Its inner
    product with that is two correlations, of what is left with x² and of what is left times o with x: by Fourier
    transform for all places at once. The best few places are compared by the cosine with what
    is left, and so is the present one.
    """
    count, pixels = len(images), images[0].numel()
    scores = torch.full((len(mixtures), count), -torch.inf)
    moves = torch.zeros(len(mixtures), count, 2, 3)
    moves[..., 0, 0] = moves[..., 1, 1] = 1.0
    plain, squared = shifts.spectra(images), shifts.spectra(images.square())
    blocks = mixtures.blocks(4 * pixels)
    for part in track(blocks, "images in their rows"):
        numbers = torch.arange(len(mixtures))[part]
        placed = mixtures.some(part)
        parts = placed.parts(images)
        for slot in range(placed.sources.shape[1]):
            rest = torch.stack(parts).sum(0) - parts[slot]
            left = target.left(numbers, rest)
            back = target.white.transposed(left)
            cross = [shifts.spectra(back * rest, turned=way) for way in shifts.ways] if target.masked else []
            alone = [shifts.spectra(back, turned=way) for way in shifts.ways]
            elsewhere = torch.zeros(len(numbers), count, dtype=torch.bool)
            for other in range(placed.sources.shape[1]):
                if other != slot:
                    elsewhere.scatter_(1, placed.sources[:, other : other + 1], True)
            here = allowed[part] & ~elsewhere
            for image in here.any(0).nonzero()[:, 0].tolist():
                rows = here[:, image].nonzero()[:, 0]
                weight = weights[numbers[rows], image]
                found = _places(rows, weight, image, plain, squared, alone, cross, shifts, masked=target.masked)
                now = placed.moves[rows, slot]
                tried = torch.cat([shifts.moves(found.topk(min(TRIED, shifts.count), 1).indices), now[:, None]], 1)
                part_of = images[image].expand(len(rows), -1, -1, -1)
                likeness = torch.stack(
                    [
                        functional.cosine_similarity(
                            target.added(rest[rows], weight[:, None, None, None] * moved(part_of, each)).flatten(1),
                            left[rows].flatten(1),
                        )
                        for each in tried.unbind(1)
                    ],
                    1,
                )
                most, which = likeness.max(1)
                better = most > scores[numbers[rows], image]
                chosen = numbers[rows[better]]
                scores[chosen, image] = most[better]
                moves[chosen, image] = tried[better, which[better]]
    return Fits(scores, moves)


def _places(
    rows: Tensor,
    weight: Tensor,
    image: int,
    plain: Tensor,
    squared: Tensor,
    alone: list[Tensor],
    cross: list[Tensor],
    shifts: Shifts,
    *,
    masked: bool,
) -> Float[Tensor, "some count"]:
    """Give the inner product of what is left of rows with what an image would add, at every place."""
    weight = weight[:, None]
    if not masked:
        return weight * shifts.correlations(plain[image], [each[rows] for each in alone])
    squares = shifts.correlations(squared[image], [each[rows] for each in alone])
    return weight.square() * squares + 2 * weight * shifts.correlations(plain[image], [each[rows] for each in cross])


def fits_work(items: int, images: int, per_row: int, pixels: int) -> float:
    """Count the correlations of every image with every row twice, and as much for the places that are compared."""
    return per_row * 3 * matches_work(images, items, pixels)
