"""A release of moved images as an attack sees it: rows, white maps of them, and what labels say."""

import math
from dataclasses import dataclass, replace
from typing import Self

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.records import EncodedRelease, Samples
from hideseek.seek.refusals import check_spread
from hideseek.seek.signals.links import RowClasses, unsigned_rows
from hideseek.seek.signals.shifted_maps import Matches, Shifts, matches, weighted_mean
from hideseek.seek.signals.whitening import Whitening
from hideseek.seek.systems.moved_frames import centred_templates
from hideseek.seek.systems.moved_refit import Target
from hideseek.seek.systems.row_assignment import assigned

LINKING = 5  # times that rows are assigned to templates, and these averaged anew
CENTRED = 3  # of these, after which templates are brought to the middle of their shifts


@dataclass(frozen=True)
class MovedProblem:
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
        masked, labels = release.scheme.masked, release.mixed_labels
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
