"""How well every pair of images explains a row of two private ones, in white squares, with the product of the two."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.progress import track
from hideseek.records import Task
from hideseek.seek.signals.row_slots import RowSlots
from hideseek.seek.systems.white_squares import WhiteSquares
from hideseek.seek.work import TOUCH

KEPT = 32  # pairs a row
SPLITS = tuple((2 * step + 1) / 20 for step in range(10))  # of a weight among two images of one class
WIDE = 1 << 12  # pairs at a time


@dataclass(frozen=True)
class PairScores:
    """The likeliest pairs of every row, with their log-likelihoods but for a constant of the row."""

    pairs: Int[Tensor, "m kept 2"]
    """In the order of the row's slots."""
    scores: Float[Tensor, "m kept"]
    """−∞ where there are fewer pairs."""
    weights: Float[Tensor, "m kept 2"]


def pair_scores(
    squares: WhiteSquares, images: Float[Tensor, "n c h w"], variance: Float[Tensor, "c h w"], slots: RowSlots
) -> PairScores:
    """Score all pairs of the classes that a row has, −‖z − W(λ_i x_i + λ_j x_j)²‖² / 2σ², and keep the best.

    All of it is products of matrices: those of rows with x_i², x_j² and x_i x_j, and those of these with each other.
    Where two images have one class, their weights are the ones of a few splits that fit best. σ² is what the best pair
    leaves.
    """
    rows, kept = len(squares.rows), KEPT
    pairs = torch.zeros(rows, kept, 2, dtype=torch.int64)
    scores = torch.full((rows, kept), -torch.inf)
    weights = torch.zeros(rows, kept, 2)
    own = squares.spectra(images.square())
    level = squares.spectra(variance[None])[0]
    owners = slots.image_classes
    kinds, which = slots.classes.unique(dim=0, return_inverse=True)
    for number, (first, second) in enumerate(track(kinds.tolist(), "scoring pairs")):
        some = (which == number).nonzero()[:, 0]
        ones, twos = (owners == first).nonzero()[:, 0], (owners == second).nonzero()[:, 0]
        left = squares.rows[some] - squares.unknown[some, None] * level
        products = left @ own.T
        energy = left.square().sum(1, keepdim=True)
        step = max(1, WIDE // max(1, len(twos)))
        for part in ones.split(step):
            found = torch.cartesian_prod(part, twos)
            if first == second:
                found = found[found[:, 0] < found[:, 1]]
            if not len(found):
                continue
            gain, share = _gains(squares, images, own, found, left, products, slots, some, same=first == second)
            value = gain - energy  # minus the squared distance
            both = torch.cat([scores[some], value], 1)
            best, place = both.topk(kept)
            old = pairs[some]
            fresh = place >= kept
            at = (place - kept).clamp_min(0)
            scores[some] = best
            pairs[some] = torch.where(fresh[..., None], found[at], old.gather(1, _twice(place.clamp_max(kept - 1))))
            mass = slots.weights[some].sum(1, keepdim=True)
            lighter = share.gather(1, at)
            chosen = torch.stack([lighter, mass - lighter], 2)
            weights[some] = torch.where(
                fresh[..., None], chosen, weights[some].gather(1, _twice(place.clamp_max(kept - 1)))
            )
    noise = (-scores[:, :1] / squares.rows.shape[1]).clamp_min(1e-12)
    return PairScores(pairs, (scores - scores[:, :1]) / (2 * noise), weights)


def _gains(
    squares: WhiteSquares,
    images: Float[Tensor, "n c h w"],
    own: Float[Tensor, "n pixels"],
    found: Int[Tensor, "pairs 2"],
    left: Float[Tensor, "some pixels"],
    products: Float[Tensor, "some n"],
    slots: RowSlots,
    some: Int[Tensor, " some"],
    *,
    same: bool,
) -> tuple[Float[Tensor, "some pairs"], Float[Tensor, "some pairs"]]:
    """Give 2⟨z, f⟩ − ‖f‖² of every row and pair, and the weight of the first image."""
    i, j = found.T
    crossed = squares.spectra(2 * images[i] * images[j])
    of_cross = left @ crossed.T
    tables = [
        own[i].square().sum(1),
        own[j].square().sum(1),
        crossed.square().sum(1),
        (own[i] * own[j]).sum(1),
        (own[i] * crossed).sum(1),
        (own[j] * crossed).sum(1),
    ]

    def gain(first: Tensor, second: Tensor) -> Tensor:
        a, b, c = first.square(), second.square(), first * second
        fit = a * products[:, i] + b * products[:, j] + c * of_cross
        norm = a.square() * tables[0] + b.square() * tables[1] + c.square() * tables[2]
        return 2 * fit - norm - 2 * (a * b * tables[3] + a * c * tables[4] + b * c * tables[5])

    weights = slots.weights[some]
    if not same:
        return gain(weights[:, :1], weights[:, 1:]), weights[:, :1].expand(-1, len(found))
    mass = weights.sum(1, keepdim=True)
    tried = torch.stack([gain(split * mass, (1 - split) * mass) for split in SPLITS])
    best, place = tried.max(0)
    return best, torch.tensor(SPLITS)[place] * mass


def _twice(places: Int[Tensor, "some kept"]) -> Int[Tensor, "some kept 2"]:
    """Give places for both images of pairs."""
    return places[..., None].expand(-1, -1, 2)


def pair_work(task: Task, classes: int) -> float:
    """Count the products of rows with all pairs of their classes."""
    each = max(1.0, task.images / max(1, classes))
    made = 0.5 * float(task.images) ** 2 * task.pixels * (40 * TOUCH / 10)
    return task.items * each**2 * (task.pixels + 20 * TOUCH) + made
