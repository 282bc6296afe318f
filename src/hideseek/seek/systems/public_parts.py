"""Which public images are in rows whose private part is nearly known: products with signs, not squares, tell."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.progress import track
from hideseek.records import Samples, Task
from hideseek.seek.systems.phase_retrieval import FLOOR, PhaseProblem
from hideseek.seek.work import TOUCH

ROWS, PUBLIC = 512, 2048  # that meet at a time
SWEEPS = 2  # in which every public image of a row is chosen, given the others


@dataclass(frozen=True)
class PublicParts:
    """The public images of rows, and their sum."""

    candidates: Int[Tensor, "m k_public"]
    """In the order of the weights."""
    scores: Float[Tensor, "m k_public"]
    """By how much each lowers the squared distance to the row, in white space, for a pixel."""
    sums: Float[Tensor, "m c h w"]


def public_parts(
    problem: PhaseProblem,
    images: Float[Tensor, "n c h w"],
    public: Samples,
    weights: Float[Tensor, "m k_public"],
    error: float,
) -> PublicParts:
    """Find the public images of every row, the heaviest first, each time with signs that fit what was found before.

    With E s = x̃ tanh(x̃ m / v), u = E s − m is what is left to explain; of public images p of weight λ, the one is
    chosen that has the largest 2λ⟨u, p⟩ − λ²‖p‖² after both were made white.
    """
    parts = [
        _of_rows(problem, images, public, weights, error, slice(first, first + ROWS))
        for first in track(range(0, len(weights), ROWS), "finding public images")
    ]
    return PublicParts(
        torch.cat([part.candidates for part in parts]),
        torch.cat([part.scores for part in parts]),
        torch.cat([part.sums for part in parts]),
    )


def _of_rows(
    problem: PhaseProblem,
    images: Float[Tensor, "n c h w"],
    public: Samples,
    weights: Float[Tensor, "m k_public"],
    error: float,
    some: slice,
) -> PublicParts:
    """Find the public images of some rows."""
    magnitudes, mean = problem.magnitudes[some], problem.spectrum.mean
    private = problem.mixtures.some(some).mixed(images.flatten(1)).view_as(magnitudes)
    doubt = problem.mixtures.some(some).energies() * error + FLOOR
    weights = weights[some]
    order = weights.argsort(dim=1, descending=True)
    rows = torch.arange(len(weights))
    chosen = torch.full_like(order, -1)
    scores = torch.zeros_like(weights)
    sums = torch.zeros_like(magnitudes)
    for turn in range(SWEEPS * weights.shape[1]):
        column = order[:, turn % weights.shape[1]]
        weight, before = weights[rows, column], chosen[rows, column]
        left = weights * (chosen < 0)  # of images that are still unknown
        again = (before >= 0)[:, None, None, None]
        known = private + sums
        expected = known + left.sum(1)[:, None, None, None] * mean
        variance = (doubt + left.square().sum(1))[:, None, None, None] * problem.spectrum.variance
        signed = magnitudes * torch.tanh(magnitudes * expected / variance)
        own = weight[:, None, None, None] * public.pixels(before.clamp_min(0)) * again
        found, score = _nearest(problem, signed - known + own, weight, public, chosen, column)
        sums += weight[:, None, None, None] * public.pixels(found) - own
        chosen[rows, column], scores[rows, column] = found, score
    return PublicParts(chosen, scores, sums)


def _nearest(
    problem: PhaseProblem,
    left: Float[Tensor, "m c h w"],
    weight: Float[Tensor, " m"],
    public: Samples,
    chosen: Int[Tensor, "m k_public"],
    column: Int[Tensor, " m"],
) -> tuple[Int[Tensor, " m"], Float[Tensor, " m"]]:
    """Give the public image that lowers each row's distance most, and by how much; none that is there already."""
    white = problem.spectrum.basis
    rows, place = white(left).flatten(1), torch.arange(len(left))
    others = chosen.clone()
    others[place, column] = -1
    best = torch.full((len(left),), -torch.inf)
    found = torch.zeros(len(left), dtype=torch.int64)
    for first in range(0, len(public), PUBLIC):
        block = white(public.pixels(slice(first, first + PUBLIC))).flatten(1)
        gains = 2 * weight[:, None] * (rows @ block.T) - weight.square()[:, None] * block.square().sum(1)
        for taken in others.T:
            inside = (taken >= first) & (taken < first + len(block))
            gains[place[inside], taken[inside] - first] = -torch.inf
        value, which = gains.max(1)
        better = value > best
        best, found = torch.where(better, value, best), torch.where(better, which + first, found)
    return found, best / rows.shape[1]


def public_work(task: Task, count: int) -> float:
    """Count the products of all rows with all public images, which are made white for every few rows."""
    each = float(task.items) * task.public * (task.pixels + 5 * TOUCH)
    made = (task.items / ROWS + 1) * task.public * task.pixels * 30 * TOUCH
    return SWEEPS * count * (each + made + task.items * task.pixels * 40 * TOUCH)
