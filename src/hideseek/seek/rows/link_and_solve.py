"""The whole attack of an outsider on masked rows: link them, cluster, assign, solve, and assign again."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.progress import track
from hideseek.records import Attack, EncodedRelease, Evidence, Reason, Reconstruction, Refusal, Task
from hideseek.seek.refusals import check_spread, without_phases
from hideseek.seek.rows.linear_inversion import pixel_range
from hideseek.seek.rows.phase_retrieval import REFINING, SIGNED_STEPS, range_votes, signed
from hideseek.seek.run import check
from hideseek.seek.signals.clusters import clusters, clusters_work
from hideseek.seek.signals.image_groups import image_groups
from hideseek.seek.signals.row_slots import RowSlots
from hideseek.seek.systems.image_spectrum import known_images, spectrum_for
from hideseek.seek.systems.inside_turns import held_alone, inside_work, solved_inside
from hideseek.seek.systems.pair_scores import pair_work
from hideseek.seek.systems.phase_retrieval import PhaseProblem, log_likelihood, retrieval_work
from hideseek.seek.systems.round_assignment import assignment_work
from hideseek.seek.systems.signed_pair_scores import signed_pair_work
from hideseek.seek.systems.signed_solve import signed_work, with_signs
from hideseek.seek.systems.spectral_start import start_work
from hideseek.seek.systems.turns import (
    RowImages,
    first_rows,
    problem_of,
    reassigned,
    resumed,
    solve_images,
    upright,
)
from hideseek.seek.systems.white_squares import WhiteSquares
from hideseek.seek.work import TOUCH, largest

FEW_ROUNDS = 2  # in which every image must be, at least
ANEW = 4  # turns in which images are solved for from the beginning
STALLED = 0.7  # of the rows that changed before do so again: more turns are of little use
UNSETTLED = 0.15  # of rows change their images: images are solved for from the beginning again
TURN_STEPS = 2  # in a turn in which all pixels of a row tell its signs
SETTLED = 0.02  # of rows change their images: the attack is done
CLASSES = 5  # that images are expected to have: two to ten are usual
SURE = 0.9  # from which an image of a row counts as sure


@dataclass(frozen=True)
class Solution:
    """What the attack finds: images, and which of them are in each row."""

    images: Float[Tensor, "n c h w"]
    rows: RowImages
    remarks: dict[str, Any]

    def of_rows(self) -> Float[Tensor, "m c h w"]:
        """Give one image for every row: the one that is surest to be in it, and in its other rows on the whole.

        An image whose rows are in doubt was made of wrong ones, too, and is less like the truth.
        """
        sources, energies = self.rows.sources, self.rows.weights.square()
        total, sure = torch.zeros(2, len(self.images))
        total.index_add_(0, sources.flatten(), energies.flatten())
        sure.index_add_(0, sources.flatten(), (energies * self.rows.sure).flatten())
        quality = sure / total.clamp_min(1e-12)
        best = (self.rows.sure * quality[sources]).argmax(1, keepdim=True)
        return self.images[sources.gather(1, best)[:, 0]]


@dataclass(frozen=True)
class LinkAndSolve(Attack[EncodedRelease]):
    """Find the private images of masked rows, with no image, network or key of the owner's, from rows and labels alone.

    Rows are |x̃_r| = |Σ_j λ_rj x_{s_rj} + u_r|, with public u_r; sought are the sources s, the weights λ and the images
    x.

    - Squares of rows, made white, are alike where rows share an image; labels tell which may. So rows of a class fall
      into clusters, one for each image. How many there are, the labels of a round tell.
    - In a round, every image is in exactly k rows. An assignment gives each row its images; the label has the weights.
    - Then images are solved for by phase retrieval.
    - With images, nearly all signs of a row are expected right, since what is unknown in it has the spectrum of images.
      From then on all is linear: rows are assigned anew, by all pairs of images, and images solved for, each place of a
      row by what is unknown there, until neither changes. Where it is in doubt that an image is in a row, it counts as
      unknown there.

    Without labels it runs as well, with all images in one class and with weights as they are on average: that is much
    less to go by.

    Rows that hold private images alone need no labels, and no weights. Images are smooth, and so are sums of them: the
    absolute values of a row's pixels tell most of its signs by themselves. Then rows are mixtures but for a sign each,
    the images are a dictionary of these, and each row is explained by k of them, down to nothing where they are right.
    """

    sees: ClassVar[type[EncodedRelease]] = EncodedRelease
    source: ClassVar[str] = "ours; that links, assignment and a solution break InstaHide: Carlini et al. 2021"

    turns: int = 6
    """Of images and assignment, at most."""
    steps: int = 20
    """Of the annealing of phase retrieval in a turn; the last has twice as many."""

    def __post_init__(self) -> None:
        if self.turns < 1 or self.steps < 1:
            raise BadInput(f"there must be one turn and one step or more, not {self.turns} and {self.steps}.")

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        """Claim the images; each is about the row in which it is heaviest among those where it is sure."""
        solution = self.solve(release, chance)
        rows = solution.rows
        heavy = rows.weights + (rows.sure >= SURE).float()
        about = torch.zeros(len(solution.images), dtype=torch.int64)
        order = heavy.flatten().argsort()
        about[rows.sources.flatten()[order]] = order // rows.sources.shape[1]
        groups = image_groups(rows.sources, heavy, len(solution.images))
        return Evidence((Reconstruction(solution.images, about, "any", groups=groups),), solution.remarks)

    def solve(self, release: EncodedRelease, chance: Randomness) -> Solution:
        """Link, cluster, assign, solve and assign again."""
        check(self, release)
        slots, public = RowSlots.of(release), release.scheme.images_per_row.public
        magnitudes = release.encoded.pixels().abs()
        check_spread(magnitudes.square() - magnitudes.square().mean(0))
        if held_alone(public, math.prod(release.encoded.shape), slots.classes.shape[1]):
            return self._inside(release, magnitudes, slots, chance)
        squares = WhiteSquares.of(magnitudes, slots.unknown(public))
        centres, remarks = _centres(squares, slots, chance)
        rows, changes = first_rows(squares, centres, slots, self.turns)
        remarks["rows changed, by squares"] = [round(change, 4) for change in changes]
        spectrum, like = spectrum_for(release)
        changes, changed = [], 1.0
        images = torch.empty(0)
        for turn in range(self.turns):
            problem = problem_of(magnitudes, rows, slots, public, spectrum)
            settled = bool(public) and changed < UNSETTLED
            if turn < ANEW and not settled:
                images = solve_images(problem, self.steps, chance)
            elif not public:
                images = resumed(problem, images, self.steps // 2)
            if public:
                images = with_signs(problem, upright(problem, images), TURN_STEPS)
            after = reassigned(squares, problem, images, slots, rows, settled=settled)
            before, changed = changed, after.changed(rows)
            changes.append(round(changed, 4))
            rows = after
            if changed < SETTLED or (settled and changed > STALLED * before):
                break
        problem = problem_of(magnitudes, rows, slots, public, spectrum)
        if public:
            images = with_signs(problem, images, SIGNED_STEPS)
            if range_votes(images, -images, release) < 0:  # the mean of unknown images says little of signs
                images = with_signs(problem, -images, SIGNED_STEPS)
        else:
            images = signed(problem, resumed(problem, images, self.steps), release, like)
        remarks |= {"rows changed, by images": changes}
        return _solution(release, problem, images, rows, remarks)

    def _inside(
        self, release: EncodedRelease, magnitudes: Float[Tensor, "m c h w"], slots: RowSlots, chance: Randomness
    ) -> Solution:
        """Solve rows that hold private images alone."""
        turns = max(1, self.turns // 2)
        images, rows, spectrum, remarks = solved_inside(magnitudes, slots, turns, self.steps, chance)
        found = replace(slots, sizes=torch.tensor([len(images)]))
        problem = problem_of(magnitudes, rows, found, 0, spectrum)
        images = signed(problem, images, release, known_images(release))
        return _solution(release, problem, images, rows, _counted(slots) | remarks)

    def refuses(self, release: EncodedRelease) -> Refusal | None:
        """Refuse rows without a mask, moved images, features, one private image in a row, and too few rows."""
        private, rounds = release.scheme.images_per_row.private, release.rounds
        if (refused := without_phases(release)) is not None:
            return refused
        if rounds < FEW_ROUNDS:
            return Refusal(Reason.TOO_FEW_ROUNDS, {"wanted": FEW_ROUNDS})
        least = private * rounds
        few = len(release.encoded) < least
        return Refusal(Reason.TOO_FEW_ROWS, {"given": len(release.encoded), "wanted": least}) if few else None

    def work(self, task: Task) -> float:
        """Count squares, clusters of five classes, and the turns."""
        if held_alone(task.public, task.pixels, task.images_per_item):
            return inside_work(task, max(1, self.turns // 2), self.steps) + retrieval_work(task, 2 * REFINING)
        classes = max(1, min(CLASSES, task.images // 4))
        numbers = float(task.items) * task.pixels
        private = 2 if task.public else task.images_per_item
        found = classes * clusters_work(private * task.items / classes, task.images / classes, task.pixels)
        assigning = assignment_work(task, private, classes)
        first = self.turns * (assigning + numbers * task.images)
        scoring = 8 * numbers * TOUCH + task.items * float(task.images) * task.pixels
        turn = start_work(task) + pair_work(task, classes) + assigning + scoring
        end = 0.0
        if task.public:
            turn += signed_pair_work(task, classes) + signed_work(task, TURN_STEPS)
            end = signed_work(task, SIGNED_STEPS)
        return 30 * numbers * TOUCH + found + first + self.turns * turn + retrieval_work(task, self._steps()) + end

    def _steps(self) -> int:
        """Give how many steps there are in all."""
        return (self.turns + 1) * self.steps + 2 * REFINING

    def within(self, work: float, task: Task) -> Self:
        """Take fewer turns, then fewer steps in each."""
        turns = largest(lambda turns: replace(self, turns=turns).work(task), 1, self.turns, work)
        fewer = replace(self, turns=turns)
        return replace(fewer, steps=largest(lambda steps: replace(fewer, steps=steps).work(task), 5, self.steps, work))


def _solution(
    release: EncodedRelease,
    problem: PhaseProblem,
    images: Float[Tensor, "n c h w"],
    rows: RowImages,
    remarks: dict[str, Any],
) -> Solution:
    """Put an answer together, with what can be said of the rows and images of any."""
    more = {
        "images of rows that are sure": round(float((rows.sure >= SURE).float().mean()), 4),
        "expected right": round(float(rows.sure.mean()), 4),
        "log-likelihood": round(log_likelihood(problem, images), 6),
    }
    limits = pixel_range(release.encoded)
    return Solution(images if limits is None else images.clamp(*limits), rows, remarks | more)


def _counted(slots: RowSlots) -> dict[str, Any]:
    """Say how many images there are, and what labels told."""
    return {
        "images": slots.images,
        "images counted by": "rounds and labels" if slots.counted and slots.labelled else "rounds",
        "labels": "used" if slots.labelled else "none: rows are linked without classes, and weights are guessed",
        "rows with exact weights": round(float(slots.exact.float().mean()), 4),
    }


def _centres(
    squares: WhiteSquares, slots: RowSlots, chance: Randomness
) -> tuple[Float[Tensor, "n pixels"], dict[str, Any]]:
    """Cluster the rows of each class; give the mean of each cluster, class by class, and what can be said of them."""
    unit, mean = squares.rooted(), squares.rows.mean(0)
    centres, tightness, distinct = [], [], 0
    for rows, strengths, count in track(list(_class_rows(slots)), "clusters, class by class"):
        found = clusters(unit[rows], strengths, count, slots.rounds, chance)
        distinct += found.distinct
        tightness.append(found.tightness)
        for members in found.members:
            weights = strengths[members]
            total = weights @ (squares.rows[rows[members]] - mean)
            centres.append(total / weights.square().sum().clamp_min(1e-12))
    remarks = _counted(slots) | {
        "clusters that are distinct": distinct,
        "tightness of clusters": round(float(torch.cat(tightness).mean()), 4),
    }
    return torch.stack(centres), remarks


def _class_rows(slots: RowSlots) -> Iterator[tuple[Tensor, Tensor, int]]:
    """Give, for each class that has images, the rows that have it, its λ² there, and how many images it has."""
    for number, count in enumerate(slots.sizes.tolist()):
        rows = (slots.masses[:, number] > 0).nonzero()[:, 0]
        if count and len(rows) > 1:
            yield rows, slots.masses[rows, number].square(), count
