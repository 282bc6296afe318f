"""Which pair of images is in which row: in a round every image is in exactly two rows."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.seek.signals.row_slots import RowSlots
from hideseek.seek.systems.best_pairs import PairScores

TEMPER = 0.15  # of log-likelihoods: what white squares leave is not quite white
SIGNED = 0.3  # of those that have signs
STEPS = 30


def balanced(found: PairScores, slots: RowSlots, temper: float = TEMPER) -> Float[Tensor, "m kept"]:
    """Give the probability of every pair of a row, so that every image is expected in two rows of each round.

    p ∝ exp(score + φ_i + φ_j), with φ for every image and round: iterative proportional fitting, the distribution next
    to the likelihoods that keeps the counts.
    """
    scores = temper * found.scores
    if not slots.counted:
        return scores.softmax(1)
    images, rows = slots.images, len(scores)
    rounds = torch.arange(rows) // (rows // slots.rounds)
    places = (found.pairs + rounds[:, None, None] * images).flatten()
    push = torch.zeros(slots.rounds * images)
    chances = scores.softmax(1)
    for _ in range(STEPS):
        counts = torch.zeros_like(push).index_add_(0, places, chances[..., None].expand(-1, -1, 2).flatten())
        push = push + (2 / counts.clamp_min(1e-3)).log()
        chances = (scores + push[places].view(*scores.shape, 2).sum(2)).softmax(1)
    return chances


def chosen(
    found: PairScores, chances: Float[Tensor, "m kept"]
) -> tuple[Int[Tensor, "m 2"], Float[Tensor, "m 2"], Float[Tensor, "m 2"]]:
    """Give the likeliest pair of every row, its weights, and how likely each of its images is to be in the row."""
    best = chances.argmax(1)
    rows = torch.arange(len(best))
    pair = found.pairs[rows, best]
    there = (found.pairs[:, :, None, :] == pair[:, None, :, None]).any(3).float()
    return pair, found.weights[rows, best], (there * chances[..., None]).sum(1)
