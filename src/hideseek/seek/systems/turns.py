"""Images from rows, and rows to images, in turn, until neither changes."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.seek.signals.row_slots import RowSlots
from hideseek.seek.systems.balanced_pairs import SIGNED, balanced, chosen
from hideseek.seek.systems.image_spectrum import ImageSpectrum
from hideseek.seek.systems.mixtures import Mixtures
from hideseek.seek.systems.pair_scores import pair_scores
from hideseek.seek.systems.phase_retrieval import LAST_ERROR, PhaseProblem, annealed, em_step, log_likelihood
from hideseek.seek.systems.round_assignment import assigned
from hideseek.seek.systems.signed_pair_scores import signed_pair_scores
from hideseek.seek.systems.slot_weights import fitted_weights
from hideseek.seek.systems.spectral_start import spectral_start
from hideseek.seek.systems.white_squares import WhiteSquares

DOUBTED = 0.3  # of the variance of images, that is in doubt when rows have changed
FOLDS = 4  # of rounds, each compared with the squares that the others give
SETTLED = 0.01  # of rows change
UNSURE = 0.5  # below which an image is taken to be unknown
TEMPER = 0.15  # of log-likelihoods: what white squares leave is not quite white


@dataclass(frozen=True)
class RowImages:
    """Which images are in rows, with what weights, and how sure that is."""

    sources: Int[Tensor, "m k"]
    weights: Float[Tensor, "m k"]
    sure: Float[Tensor, "m k"]

    def changed(self, before: "RowImages") -> float:
        """Give the share of rows whose images are others than before."""
        same = (self.sources.sort(1).values == before.sources.sort(1).values).all(1)
        return 1 - float(same.float().mean())


def folds(slots: RowSlots) -> list[Bool[Tensor, " m"]]:
    """Divide the rounds into folds: rows are compared with what was found in the rows of the others.

    What is found from a row holds some of its noise, by which the row would stay where it is.
    """
    rows = len(slots.classes)
    rounds = torch.arange(rows) // max(1, rows // slots.rounds)
    count = min(FOLDS, slots.rounds)
    return [rounds % count == number for number in range(count)]


def first_rows(
    squares: WhiteSquares, centres: Float[Tensor, "n pixels"], slots: RowSlots, turns: int
) -> tuple[RowImages, list[float]]:
    """Assign rows to clusters by the white squares of these, and fit their squares to other rows, in turn.

    Centres are means of rows less the mean of all, so the first time rows are compared without it.
    """
    around = replace(squares, rows=squares.rows - squares.rows.mean(0), unknown=torch.zeros_like(squares.unknown))
    centres = torch.cat([centres, torch.zeros_like(centres[:1])])
    sources = assigned(around.scores_by_centres(centres, slots, None), slots)
    changes, scores = [], torch.zeros(*slots.classes.shape, slots.images)
    for _ in range(turns):
        for fold in folds(slots):
            rest = squares.some(~fold)
            centres = rest.fitted(Mixtures(sources[~fold], slots.weights[~fold], slots.images))
            scores[fold] = squares.some(fold).scores_by_centres(centres, slots.some(fold), sources[fold])
        after = assigned(scores, slots)
        changes.append(float((after != sources).any(1).float().mean()))
        sources = after
        if changes[-1] < SETTLED:
            break
    sure = scores.softmax(2).gather(2, sources[..., None])[..., 0]
    return RowImages(sources, slots.weights, sure), changes


def problem_of(
    magnitudes: Float[Tensor, "m c h w"], rows: RowImages, slots: RowSlots, public: int, spectrum: ImageSpectrum
) -> PhaseProblem:
    """Give the equations that rows are, those images that are not sure counting as unknown."""
    out = rows.weights * (rows.sure < UNSURE)
    mixtures = Mixtures(rows.sources, (rows.weights - out).contiguous(), slots.images)
    unknown = slots.unknown(public) + out.square().sum(1)
    return PhaseProblem(magnitudes, mixtures, unknown, slots.rest() + out.sum(1), spectrum)


def resumed(problem: PhaseProblem, images: Float[Tensor, "n c h w"], steps: int) -> Float[Tensor, "n c h w"]:
    """Go on from images that are mostly right: the same annealing, from a smaller error."""
    without = replace(problem, mass=torch.zeros_like(problem.mass))
    for step in range(steps):
        error = DOUBTED * (LAST_ERROR / DOUBTED) ** (step / max(1, steps - 1))
        images, _ = em_step(without, images, problem.doubt(error), error)
    return images


def solve_images(problem: PhaseProblem, steps: int, chance: Randomness) -> Float[Tensor, "n c h w"]:
    """Solve for the images, from squares on."""
    return annealed(problem, spectral_start(problem, chance), steps)


def upright(problem: PhaseProblem, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
    """Give images or their negatives, whichever fits the mean of unknown images better."""
    return max((images, -images), key=lambda each: log_likelihood(problem, each))


def reassigned(
    squares: WhiteSquares,
    problem: PhaseProblem,
    images: Float[Tensor, "n c h w"],
    slots: RowSlots,
    rows: RowImages,
    *,
    settled: bool = False,
) -> RowImages:
    """Give every row its images anew: two by all pairs of its classes, more one by one, given the others.

    Pairs are scored by the signs that a row is expected to have: with the images it has, where most rows are settled,
    or else with the pairs that its squares tell.
    """
    variance = problem.spectrum.variance
    if rows.sources.shape[1] == 2 and bool((slots.classes >= 0).all()):
        if settled:
            likely = Mixtures(rows.sources, rows.weights * rows.sure, len(images))
        else:
            found = pair_scores(squares, images, variance, slots)
            likely = found.mixtures(balanced(found, slots), len(images))
        found = signed_pair_scores(problem, images, slots, likely)
        return RowImages(*chosen(found, balanced(found, slots, SIGNED)))
    weights = fitted_weights(problem.magnitudes, images, slots, rows.sources, rows.weights)
    scores = squares.scores(images, variance, replace(slots, weights=weights), rows.sources)
    sources = assigned(scores, slots)
    sure = (TEMPER * scores).softmax(2).gather(2, sources[..., None])[..., 0]
    return RowImages(sources, fitted_weights(problem.magnitudes, images, slots, sources, weights), sure)
