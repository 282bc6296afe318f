"""Images that were moved before they were mixed: rows are linked at every shift, and solved for images and shifts."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records import Attack, EncodedRelease, Evidence, Reason, Reconstruction, Refusal, Task
from hideseek.seek.refusals import without_pairs
from hideseek.seek.run import check
from hideseek.seek.signals.image_groups import image_groups
from hideseek.seek.signals.shifted_clusters import shifted_templates, templates_work
from hideseek.seek.signals.shifted_maps import matches_work
from hideseek.seek.signals.whitening import Whitening
from hideseek.seek.systems.moved_frames import centred_images
from hideseek.seek.systems.moved_mixtures import MovedMixtures
from hideseek.seek.systems.moved_problem import LINKING, MovedProblem
from hideseek.seek.systems.moved_refit import fits, fits_work
from hideseek.seek.systems.moved_signs import energies, signed_images, signs_work
from hideseek.seek.systems.moved_solve import likeliest, solve_work
from hideseek.seek.systems.row_assignment import assigned, assignment_work
from hideseek.seek.systems.usual_spectrum import likelier_sign, spectrum_of_images

LEAST_SEEDS, LEAST_RESTARTS, LEAST_STEPS = 2, 2, 20


@dataclass(frozen=True)
class LinkShifted(Attack[EncodedRelease]):
    """Link rows that show one image in different places, and solve for the images and where they were, signs unknown.

    Rows are |x̃_r| = |Σ_j λ_rj T_rj x_{s_rj}|, each T a shift, mirrored or not.

    Moving images before they are mixed breaks attacks that look at a pixel in the same place of all rows (Luo et al.
    2022, who train a network to compare rows and another to denoise what is fused). No network is needed: white squares
    of rows are matched at every shift, mirrored or not, by Fourier transform. Rows of a class gather around templates;
    a flow gives each row its images; their squares follow by least squares, their signs from the products of images
    that met, and then images, shifts and the noise of every row are those that are likeliest together. Images tell
    better than templates which rows they are in, and where: so that is done again.
    """

    sees: ClassVar[type[EncodedRelease]] = EncodedRelease
    source: ClassVar[str] = "hideseek; the problem: Luo et al. 2022"

    seeds: int = 12
    """Rows from which templates are gathered, for each image."""
    restarts: int = 12
    """Starts of the search for signs."""
    steps: int = 60
    """Steps of Adam."""
    refits: int = 4
    """How often images are looked for in the rows again, and improved."""

    def __post_init__(self) -> None:
        if min(self.seeds, self.restarts, self.steps) < 1 or self.refits < 0:
            raise BadInput("seeds, restarts and steps must be 1 or more, and refits 0 or more.")

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        """Link, assign, solve, and look again."""
        check(self, release)
        problem = MovedProblem.of(release)
        templates, of_class = shifted_templates(
            problem.maps, problem.classes, problem.images, problem.per_image, self.seeds, problem.shifts(2), chance
        )
        there = problem.classes.images > 0
        weights = problem.weights[:, of_class]
        sources, moves, matched = problem.linked(templates, of_class)
        mixtures = MovedMixtures(sources, weights.gather(1, sources), moves)
        spectrum = spectrum_of_images(release)
        remarks: dict[str, float | int] = {"templates": len(templates), "match": matched}
        images, mixtures, left = self._solved(problem, mixtures, len(templates), spectrum, chance)
        for _ in range(self.refits):
            images, mixtures = centred_images(images, mixtures, 1 / left.clamp_min(1e-30), problem.reach)
            found = fits(problem.target(), images, mixtures, weights, there[:, of_class], problem.shifts(1))
            before = sources
            scores = found.scores.nan_to_num(neginf=-1.0) * weights.square()
            sources = assigned(scores, there, of_class, problem.rounds, problem.per_row)
            moves = found.moves[torch.arange(len(sources))[:, None], sources]
            mixtures = MovedMixtures(sources, weights.gather(1, sources), moves)
            images, mixtures, left = likeliest(
                problem.rows, mixtures, images, spectrum, self.steps, masked=problem.masked
            )
            remarks["reassigned"] = float((sources.sort(1).values != before.sort(1).values).any(1).float().mean())
        if problem.masked:
            images = likelier_sign(images, release) * images
        remarks["unexplained"] = float(left.mean() / problem.rows.square().mean().clamp_min(1e-30))
        groups = image_groups(mixtures.sources, mixtures.weights, len(images))
        return Evidence((Reconstruction(images, torch.arange(len(images)), "any", groups=groups),), remarks)

    def _solved(
        self, problem: MovedProblem, mixtures: MovedMixtures, images: int, spectrum: Whitening, chance: Randomness
    ) -> tuple[Tensor, MovedMixtures, Tensor]:
        """Give images for the first time: squares, then signs, then all together."""
        if problem.masked:
            squares = problem.rows.square()
            energy = energies(squares, mixtures, images, problem.others)
            start, _ = signed_images(squares, mixtures, energy, problem.others, self.restarts, chance)
        else:
            start = torch.zeros(images, *problem.rows.shape[1:])
        return likeliest(problem.rows, mixtures, start, spectrum, self.steps, masked=problem.masked)

    def refuses(self, release: EncodedRelease) -> Refusal | None:
        """Refuse images that stayed where they were, features, and rows that have no image in common."""
        if not release.scheme.moves:
            return Refusal(Reason.NOT_MOVED)
        if min(release.encoded.shape[1:]) < 2:
            return Refusal(Reason.NO_PLACES)
        return without_pairs(release)

    def work(self, task: Task) -> float:
        """Count the matches, the assignments, and the steps of both searches."""
        per_row = task.images_per_item
        linking = templates_work(task.items, task.images, self.seeds, task.pixels)
        linking += LINKING * (
            matches_work(task.images, task.items, task.pixels) + assignment_work(task.items, task.images)
        )
        again = fits_work(task.items, task.images, per_row, task.pixels) + assignment_work(task.items, task.images)
        solving = solve_work(task, per_row, self.steps)
        return linking + signs_work(task, per_row, self.restarts) + solving + self.refits * (again + solving)

    def within(self, work: float, task: Task) -> Self:
        """Lower all settings alike, by halves, until they fit."""
        fitted = self
        while fitted.work(task) > work:
            lower = replace(
                fitted,
                seeds=min(fitted.seeds, max(LEAST_SEEDS, fitted.seeds // 2)),
                restarts=min(fitted.restarts, max(LEAST_RESTARTS, fitted.restarts // 2)),
                steps=min(fitted.steps, max(LEAST_STEPS, fitted.steps // 2)),
                refits=fitted.refits // 2,
            )
            if lower == fitted:
                break
            fitted = lower
        return fitted
