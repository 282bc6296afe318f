"""Images from expected rows: once most signs are right, the rest is linear, and places count by their noise."""

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.progress import track
from hideseek.records import Task
from hideseek.seek.systems.local_solve import local_weights, local_work, locally_solved
from hideseek.seek.systems.mixture_solve import solve_work, solved
from hideseek.seek.systems.phase_retrieval import SURE_ERROR, PhaseProblem
from hideseek.seek.systems.row_signs import expected_rows, signs_work
from hideseek.seek.work import TOUCH

BLOCK = 1024  # rows
LOWEST = 2  # frequencies, in either direction, that all places tell together
RIDGE = 2.0  # over the variance of white images


def with_signs(problem: PhaseProblem, images: Float[Tensor, "n c h w"], steps: int) -> Float[Tensor, "n c h w"]:
    """Improve images by expected rows; it needs images with their right sign.

    Each step solves A x = E s − rest twice: with a weight for every row, and with one for every row and place, in white
    places, by the energy that the first solution leaves there. The second is far better but for the lowest frequencies,
    to which no place is local.
    """
    for _ in track(range(steps), "signs from all pixels"):
        images = _stepped(problem, images)
    return images


def _stepped(problem: PhaseProblem, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
    """Take one step."""
    mixtures, spectrum, doubt = problem.mixtures, problem.spectrum, problem.doubt(SURE_ERROR)
    rows = torch.empty_like(problem.magnitudes)  # expected, and white
    gathered = torch.zeros_like(images).flatten(1)
    parts = [slice(first, first + BLOCK) for first in range(0, len(rows), BLOCK)]
    for some in parts:
        rest = problem.mass[some, None, None, None] * spectrum.mean
        if problem.known is not None:
            rest = rest + problem.known[some]
        mean = mixtures.some(some).mixed(images.flatten(1)).view_as(rows[some]) + rest
        signed = expected_rows(problem.magnitudes[some], mean, doubt[some], spectrum) - rest
        gathered += mixtures.some(some).gathered((signed / doubt[some, None, None, None]).flatten(1))
        rows[some] = spectrum.white(signed)
    plain = solved(mixtures, 1 / doubt, 1.0, gathered)[0].view_as(images)
    white = spectrum.white(plain)
    weights = rows.new_empty(len(rows), rows[0, 0].numel())
    right = torch.zeros_like(images).flatten(1)
    for some in parts:
        few = mixtures.some(some)
        local = local_weights(rows[some] - few.mixed(white.flatten(1)).view_as(rows[some]))
        right += few.gathered((rows[some] * local).flatten(1))
        weights[some] = local.flatten(1)
    del rows
    found = locally_solved(mixtures, weights, RIDGE, right.view(*images.shape[:2], -1), white.flatten(2))
    return _with_lowest(problem, spectrum.coloured(found.view_as(images)), plain)


def _with_lowest(
    problem: PhaseProblem, images: Float[Tensor, "n c h w"], other: Float[Tensor, "n c h w"]
) -> Float[Tensor, "n c h w"]:
    """Replace the lowest frequencies by those of other images."""
    basis = problem.spectrum.basis
    missed = basis.spectrum(other - images)
    missed[..., LOWEST:, :] = 0
    missed[..., LOWEST:] = 0
    return images + basis.images(missed)


def signed_work(task: Task, steps: int) -> float:
    """Count signs, and both solutions."""
    numbers = float(task.items) * task.pixels
    return steps * (signs_work(task) + solve_work(task) + local_work(task) + 20 * numbers * TOUCH)
