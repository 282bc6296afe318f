"""Images that were moved before they were mixed: rows are linked at every shift, and solved for images and shifts."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records import Attack, EncodedRelease, Evidence, Reason, Reconstruction, Refusal, Samples, Task
from hideseek.seek.refusals import check_spread, without_pairs
from hideseek.seek.run import check
from hideseek.seek.signals.links import RowClasses, unsigned_rows
from hideseek.seek.signals.shifted_clusters import shifted_templates, templates_work
from hideseek.seek.signals.shifted_maps import Matches, Shifts, matches, matches_work, weighted_mean
from hideseek.seek.signals.whitening import Whitening
from hideseek.seek.systems.moved_frames import centred_images, centred_templates
from hideseek.seek.systems.moved_mixtures import MovedMixtures
from hideseek.seek.systems.moved_refit import Target, fits, fits_work
from hideseek.seek.systems.moved_signs import energies, signed_images, signs_work
from hideseek.seek.systems.moved_solve import likeliest, solve_work
from hideseek.seek.systems.row_assignment import assigned, assignment_work
from hideseek.seek.systems.usual_spectrum import likelier_sign, spectrum_of_images

LINKING = 5  # times that rows are assigned to templates, and these averaged anew
CENTRED = 3  # of these, after which templates are brought to the middle of their shifts
LEAST_SEEDS, LEAST_RESTARTS, LEAST_STEPS = 2, 2, 20


@dataclass(frozen=True)
class LinkShifted(Attack[EncodedRelease]):
    """Link rows that show one image in different places, and solve for the images and where they were, signs unknown.

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
        problem = _Problem.of(release)
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
        return Evidence((Reconstruction(images, torch.arange(len(images)), "any"),), remarks)

    def _solved(
        self, problem: "_Problem", mixtures: MovedMixtures, images: int, spectrum: Whitening, chance: Randomness
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


@dataclass(frozen=True)
class _Problem:
    """A release as the attack sees it."""

    rows: Float[Tensor, "m c h w"]
    """Without signs, where these are masked."""
    values: Float[Tensor, "m c h w"]
    """Rows or squares, less what others add on average."""
    maps: Float[Tensor, "m c h w"]
    """White rows or squares, whose large values are drawn towards the others."""
    white: Whitening
    classes: RowClasses
    weights: Float[Tensor, "m classes"]
    others: Float[Tensor, "m 1 1 1"]
    """What public images add to squares on average."""
    images: int
    rounds: int
    per_row: int
    reach: tuple[int, int]
    mirror: bool
    masked: bool

    @classmethod
    def of(cls, release: EncodedRelease) -> Self:
        """Prepare the rows of a release."""
        private, public = release.scheme.images_per_row
        masked, labels = release.scheme.masked, release.encoded.labels
        if not float(labels.clamp_min(0).sum()) > 0:  # labels that say nothing are none
            release = replace(release, encoded=replace(release.encoded, labels=labels[:, :0], classes=()))
        rows = release.encoded.pixels().float()
        values = unsigned_rows(release).float()
        check_spread(values - values.mean(0))
        classes = RowClasses.of(release)
        labelled = release.encoded.labels.shape[1] > 0
        weights = classes.weights if labelled else classes.weights * (private / (private + public))
        mass = (weights * classes.images).sum(1).clamp(0, 1)
        squared = (1 - mass).square() * (4 / (3 * public) if public else 0.0)  # Σ μ², on average
        usual = float((squared + (weights.square() * classes.images).sum(1)).mean())
        others = (squared * float(rows.square().mean()) / max(usual, 1e-6))[:, None, None, None]
        centre = values.mean(0)
        white = Whitening.of(Samples(values - centre, values.new_empty(len(values), 0)))
        maps = white(values - centre)
        maps = maps.sign() * maps.abs().sqrt()
        movement, (height, width) = release.scheme.movement, rows.shape[2:]
        reach = math.ceil(movement.shift * height - 1e-6), math.ceil(movement.shift * width - 1e-6)
        return cls(
            rows.abs() if masked else rows,
            values - others if masked else values,
            maps - maps.mean(0),
            white,
            classes,
            weights,
            others,
            len(rows) // release.rounds,
            release.rounds,
            private,
            reach,
            movement.mirror,
            masked,
        )

    @property
    def size(self) -> tuple[int, int]:
        """Give the height and the width of rows."""
        return self.rows.shape[2], self.rows.shape[3]

    @property
    def per_image(self) -> int:
        """Count the rows that an image is in."""
        return self.per_row * self.rounds

    def shifts(self, times: int) -> Shifts:
        """Give all places: once as far as images are moved, or twice, where two of them are compared."""
        height, width = self.rows.shape[2:]
        down, across = (min(times * reach, side - 1) for reach, side in zip(self.reach, (height, width), strict=True))
        return Shifts(height, width, down, across, self.mirror)

    def target(self) -> Target:
        """Give what images must explain."""
        return Target(self.values, self.white, self.masked)

    def linked(
        self, templates: Float[Tensor, "n c h w"], of_class: Int[Tensor, " n"]
    ) -> tuple[Int[Tensor, "m k"], Float[Tensor, "m k 2 3"], float]:
        """Assign rows to templates and average these anew, some times; give a row's images, and where they are."""
        there, numbers = self.classes.images > 0, torch.arange(len(self.rows))[:, None]
        trust = self.weights[:, of_class].square()
        sources = torch.zeros(len(self.rows), self.per_row, dtype=torch.int64)
        matched = Matches(trust.T, torch.zeros(*trust.T.shape, 2, 3))
        for number in range(LINKING):
            matched = matches(templates, self.maps, self.shifts(2 if number < 2 else 1))
            sources = assigned(matched.scores.T * trust, there, of_class, self.rounds, self.per_row)
            moves = matched.moves
            if 0 < number <= CENTRED:
                moves = centred_templates(moves, sources, trust * matched.scores.T.clamp_min(0), self.reach, self.size)
            if number < LINKING - 1:
                templates = torch.stack(
                    [
                        weighted_mean(self.maps[rows], moves[image, rows], trust[rows, image])
                        if len(rows := (sources == image).any(1).nonzero()[:, 0])
                        else templates[image]
                        for image in range(len(templates))
                    ]
                )
        return sources, matched.moves[sources, numbers], float(matched.scores.T.gather(1, sources).mean())
