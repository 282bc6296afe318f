"""How well every pair of images explains a row of two private ones, in white squares, with the product of the two."""

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.records import Task
from hideseek.seek.signals.row_slots import RowSlots
from hideseek.seek.systems.best_pairs import PairBlock, PairScores, pair_blocks
from hideseek.seek.systems.white_squares import WhiteSquares
from hideseek.seek.work import TOUCH

SPLITS = tuple((2 * step + 1) / 20 for step in range(10))  # of a weight among two images of one class


def pair_scores(
    squares: WhiteSquares, images: Float[Tensor, "n c h w"], variance: Float[Tensor, "c h w"], slots: RowSlots
) -> PairScores:
    """Score all pairs of the classes that a row has, −‖z − W(λ_i x_i + λ_j x_j)²‖² / 2σ², and keep the best.

    All of it is products of matrices: those of rows with x_i², x_j² and x_i x_j, and those of these with each other.
    Where two images have one class, their weights are the ones of a few splits that fit best. σ² is what the best pair
    leaves.
    """
    found = PairScores.none(len(squares.rows))
    own = squares.spectra(images.square())
    level = squares.spectra(variance[None])[0]
    for block in pair_blocks(slots, "scoring pairs"):
        left = squares.rows[block.rows] - squares.unknown[block.rows, None] * level
        gain, weights = _gains(squares, images, own, block, left, slots.weights[block.rows])
        distances = left.square().sum(1, keepdim=True) - gain
        found.keep(block.rows, block.pairs, -distances, weights)
    noise = (-found.scores[:, :1] / squares.rows.shape[1]).clamp_min(1e-12)
    return PairScores(found.pairs, (found.scores - found.scores[:, :1]) / (2 * noise), found.weights)


def _gains(
    squares: WhiteSquares,
    images: Float[Tensor, "n c h w"],
    own: Float[Tensor, "n pixels"],
    block: PairBlock,
    left: Float[Tensor, "some pixels"],
    weights: Float[Tensor, "some 2"],
) -> tuple[Float[Tensor, "some pairs"], Float[Tensor, "some pairs 2"]]:
    """Give 2⟨z, f⟩ − ‖f‖² of every row and pair, and the weights."""
    i, j = block.pairs.T
    crossed = squares.spectra(2 * images[i] * images[j])
    products, of_cross = left @ own.T, left @ crossed.T
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

    if not block.same:
        return gain(weights[:, :1], weights[:, 1:]), weights[:, None].expand(-1, len(i), -1)
    mass = weights.sum(1, keepdim=True)
    best, place = torch.stack([gain(split * mass, (1 - split) * mass) for split in SPLITS]).max(0)
    first = torch.tensor(SPLITS)[place] * mass
    return best, torch.stack([first, mass - first], 2)


def pair_work(task: Task, classes: int) -> float:
    """Count the products of rows with all pairs of their classes."""
    each = max(1.0, task.images / max(1, classes))
    made = 0.5 * float(task.images) ** 2 * task.pixels * (40 * TOUCH / 10)
    return task.items * each**2 * (task.pixels + 20 * TOUCH) + made
