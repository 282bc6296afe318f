"""How well every pair of images explains a row once its signs are expected: linear, and far sharper than squares.

What hides a light image in a row are public images, smooth here and busy there: the residual is made white, and places
count by the inverse of its energy there.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.progress import track
from hideseek.records import Task
from hideseek.seek.signals.row_slots import RowSlots
from hideseek.seek.systems.best_pairs import KEPT, PairBlock, PairScores, pair_blocks
from hideseek.seek.systems.local_solve import local_weights
from hideseek.seek.systems.mixtures import Mixtures
from hideseek.seek.systems.phase_retrieval import LAST_ERROR, PhaseProblem
from hideseek.seek.systems.row_signs import expected_rows, signs_work
from hideseek.seek.work import TOUCH

BLOCK = 1024  # rows
SMALL = 1e-6


def signed_pair_scores(
    problem: PhaseProblem,
    images: Float[Tensor, "n c h w"],
    slots: RowSlots,
    likely: Mixtures,
) -> PairScores:
    """Score all pairs by −½ Σ w (W(E s − λ_i x_i − λ_j x_j))², W making white, w the inverse local energy.

    The signs are expected under the mixture that is likely, the mean of all pairs that may be, so that no pair explains
    signs that it chose itself. All is products of matrices, as w is the same for all colours.
    """
    white = problem.spectrum.white(images).flatten(2)
    local, fits, sizes = _expected(problem, images, white, slots, likely)
    kept = PairScores.none(len(local))
    for block in pair_blocks(slots, "scoring pairs with signs"):
        i, j = block.pairs.T
        crossed = local[block.rows] @ (white[i] * white[j]).sum(1).T
        gain, weights = _gains(block, slots.weights[block.rows], fits[block.rows], sizes[block.rows], crossed)
        kept.keep(block.rows, block.pairs, gain / 2, weights)
    return PairScores(kept.pairs, kept.scores - kept.scores[:, :1], kept.weights)


def _expected(
    problem: PhaseProblem,
    images: Float[Tensor, "n c h w"],
    white: Float[Tensor, "n c places"],
    slots: RowSlots,
    likely: Mixtures,
) -> tuple[Float[Tensor, "m places"], Float[Tensor, "m n"], Float[Tensor, "m n"]]:
    """Give w, ⟨w z, x⟩ and ⟨w, x²⟩ of every row and white image, z the white expected row."""
    doubt, spectrum, flat = problem.doubt(LAST_ERROR), problem.spectrum, images.flatten(1)
    squares, parts = white.square().sum(1), []
    for first in track(range(0, len(problem.magnitudes), BLOCK), "signs of rows"):
        some = slice(first, first + BLOCK)
        expected = likely.some(some).mixed(flat).view(-1, *images.shape[1:])
        rest = slots.rest()[some, None, None, None] * spectrum.mean
        signed = expected_rows(problem.magnitudes[some], expected + rest, doubt[some], spectrum) - rest
        local = local_weights(spectrum.white(signed - expected))
        weighed = (local * spectrum.white(signed)).flatten(1)
        local = local.flatten(1)
        parts.append((local, weighed @ white.flatten(1).T, local @ squares.T))
    local, fits, sizes = (torch.cat(each) for each in zip(*parts, strict=True))
    return local, fits, sizes


def _gains(
    block: PairBlock,
    weights: Float[Tensor, "some 2"],
    fits: Float[Tensor, "some n"],
    sizes: Float[Tensor, "some n"],
    crossed: Float[Tensor, "some pairs"],
) -> tuple[Float[Tensor, "some pairs"], Float[Tensor, "some pairs 2"]]:
    """Give 2⟨wz, f⟩ − ⟨w, f²⟩, f = λ_i x_i + λ_j x_j, and the weights: if only their sum is known, the best fit."""
    i, j = block.pairs.T
    first, second = weights[:, :1].expand_as(crossed), weights[:, 1:].expand_as(crossed)
    if block.same:
        mass = first + second
        away = (sizes[:, i] + sizes[:, j] - 2 * crossed).clamp_min(SMALL)
        first = ((fits[:, i] - fits[:, j] + mass * (sizes[:, j] - crossed)) / away).clamp_min(0).minimum(mass)
        second = mass - first
    gain = 2 * (first * fits[:, i] + second * fits[:, j]) - first.square() * sizes[:, i] - second.square() * sizes[:, j]
    return gain - 2 * first * second * crossed, torch.stack([first, second], 2)


def signed_pair_work(task: Task, classes: int) -> float:
    """Count the signs of all rows, and the products with images and pairs."""
    numbers, each = float(task.items) * task.pixels, max(1.0, task.images / max(1, classes))
    pairs = task.items * each**2 * (task.pixels / max(1, task.channels) + 20 * TOUCH)
    mixed = numbers * (2 * KEPT * TOUCH / 8 + 2 * task.images + 10 * TOUCH)
    return signs_work(task) + mixed + pairs + 0.5 * float(task.images) ** 2 * task.pixels * TOUCH
