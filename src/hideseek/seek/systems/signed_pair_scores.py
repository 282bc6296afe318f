"""How well the likeliest pairs of images explain a row once its signs are expected: linear, and far sharper than squares.

What hides a light image in a row are public images, smooth here and busy there: the residual is made white, and places
count by the inverse of its energy there.
"""

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.progress import track
from hideseek.records import Task
from hideseek.seek.signals.row_slots import RowSlots
from hideseek.seek.systems.local_solve import local_weights
from hideseek.seek.systems.mixtures import Mixtures
from hideseek.seek.systems.pair_kernel import pair_distances
from hideseek.seek.systems.pair_scores import KEPT, PairScores
from hideseek.seek.systems.phase_retrieval import LAST_ERROR, PhaseProblem
from hideseek.seek.systems.row_signs import expected_rows, signs_work
from hideseek.seek.work import TOUCH

BLOCK = 1024  # rows


def signed_pair_scores(
    problem: PhaseProblem,
    images: Float[Tensor, "n c h w"],
    slots: RowSlots,
    found: PairScores,
    chances: Float[Tensor, "m kept"],
) -> PairScores:
    """Score pairs by −½ Σ w (W(E s − λ_i x_i − λ_j x_j))², W making white, and w the inverse local energy.

    The signs are expected under the mean of all pairs, so that no pair explains signs that it chose itself. Where a
    label tells only the sum of two weights, they are fitted.
    """
    doubt, flat = problem.doubt(LAST_ERROR), images.flatten(1)
    white = problem.spectrum.white(images).flatten(1).contiguous().numpy()
    scores, weights = torch.empty_like(found.scores), found.weights.clone()
    mixtures = Mixtures(
        found.pairs.flatten(1), (found.weights * chances[..., None]).flatten(1).contiguous(), len(images)
    )
    for first in track(range(0, len(scores), BLOCK), "scoring pairs with signs"):
        some = slice(first, first + BLOCK)
        expected = mixtures.some(some).mixed(flat).view(-1, *images.shape[1:])
        rest = slots.rest()[some, None, None, None] * problem.spectrum.mean
        signed = expected_rows(problem.magnitudes[some], expected + rest, doubt[some], problem.spectrum) - rest
        local = local_weights(problem.spectrum.white(signed - expected)).expand_as(signed)
        pair_distances(
            problem.spectrum.white(signed).flatten(1).contiguous().numpy(),
            local.flatten(1).contiguous().numpy(),
            white,
            found.pairs[some].numpy(),
            weights[some].numpy(),
            ~slots.exact[some].numpy(),
            scores[some].numpy(),
        )
    scores = torch.where(found.scores.isfinite(), -scores / 2, -torch.inf)
    return replace(found, scores=scores - scores.amax(1, keepdim=True), weights=weights)


def signed_pair_work(task: Task) -> float:
    """Count the signs of all rows, and the distances of pairs."""
    numbers = float(task.items) * task.pixels
    return signs_work(task) + numbers * (KEPT * 30 + 10 * TOUCH)
