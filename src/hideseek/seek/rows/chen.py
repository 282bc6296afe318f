"""The attack on Gaussian images: which rows share an image follows from absolute values, and the images from that."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import torch

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records import Attack, EncodedRelease, Evidence, Links, Reason, Reconstruction, Refusal, Task
from hideseek.seek.refusals import without_pairs
from hideseek.seek.run import check
from hideseek.seek.signals.folded import Array, neighbour_correlation, squared_overlaps, unit_rows
from hideseek.seek.signals.image_groups import image_groups
from hideseek.seek.systems.magnitudes import POWERS, ROUNDS, STEPS, SWEEPS, solved
from hideseek.seek.systems.pair_graph import CANDIDATES, REFITS, factorise
from hideseek.seek.systems.pair_graph import LINKED as OVERLAP
from hideseek.seek.work import DOUBLE, LOOKUP, largest

IMAGES = 2  # in a row
LEAST_ROUNDS = 3  # so that an image is in six rows
LEAST_PIXELS = 256  # then overlaps err by 1/16
LEAST_ROWS = 50  # that are worth attacking
NEIGHBOURS = 0.1  # correlation of squares of neighbouring pixels, from which rows are no independent Gaussians
LOOKED_AT = 200  # rows that are looked at for that
LINKED = 500  # rows whose pairs are claimed


@dataclass(frozen=True)
class Chen(Attack[EncodedRelease]):
    """Recover Gaussian images that were mixed in pairs under a mask, from absolute values alone.

    For pixels that are independent Gaussians the correlation of |x̃| over pixels is a function of the overlap ρ of two
    rows' weights. ρ² is factorised into two images a row (`pair_graph`), and |A x| = |x̃| is solved pixel by pixel
    (`magnitudes`). A pixel's sign, for all images at once, stays unknown. Photographs are refused: their pixels are
    alike in all images and in all neighbours, so that rows correlate which share nothing. `anyway` shows what then
    comes of it.
    """

    sees: ClassVar = EncodedRelease
    source: ClassVar = "Chen et al. 2021, for two images a row; the factorisation and the solver are ours"

    rows: int = 4000
    """Attack the first rows only."""
    anyway: bool = False
    """Attack rows whose pixels are no independent Gaussians, too."""

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise BadInput(f"rows must be 1 or more, not {self.rows}.")

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        """Factorise the overlaps, solve for the images, and say how well they explain the rows."""
        check(self, release)
        rows = _flat(release, self.rows)
        unit = unit_rows(rows)
        overlaps = squared_overlaps(unit)
        factor = factorise(overlaps, len(release.encoded) // release.rounds)
        remarks: dict[str, float | int | str] = {
            "images found": factor.shape[1],
            "of": len(release.encoded) // release.rounds,
            "overlaps unexplained": _unexplained(overlaps, factor),
            "neighbours correlate by": neighbour_correlation(unit[:LOOKED_AT], release.encoded.shape),
        }
        if factor.shape[1] < IMAGES:  # nothing to solve for: no rows are linked closely enough
            return Evidence((_links(overlaps),), remarks)
        sizes = np.abs(unit)
        found, weights = solved(np.sqrt(factor), sizes)
        remarks["squares unexplained"] = float(np.square(np.abs(weights @ found) - sizes).mean())
        scale = np.sqrt(np.square(rows).mean()) / np.sqrt(np.square(factor).sum(1).mean())  # of x̃ = Σ λ x, Σ λ = 1
        images = torch.from_numpy((found * scale).astype(np.float32)).view(-1, *release.encoded.shape)
        strongest = torch.from_numpy(factor).topk(IMAGES)
        groups = image_groups(strongest.indices, strongest.values, len(images))
        claim = Reconstruction(images, torch.arange(len(images)), "any", groups=groups)
        return Evidence((claim, _links(factor @ factor.T)), remarks)

    def refuses(self, release: EncodedRelease) -> Refusal | None:
        """Refuse rows without a mask or of other than two private images, too few rows, and pixels that are alike."""
        private, public = release.scheme.images_per_row
        if not release.scheme.masked:
            return Refusal(Reason.NOT_MASKED)
        if public:
            return Refusal(Reason.UNKNOWN_PUBLIC_IMAGES, {"given": public})
        if private != IMAGES:
            return Refusal(Reason.NOT_IN_PAIRS, {"given": private})
        if (refusal := without_pairs(release)) is not None:
            return refusal
        if release.rounds < LEAST_ROUNDS:
            return Refusal(Reason.TOO_FEW_ROUNDS, {"wanted": LEAST_ROUNDS})
        pixels = math.prod(release.encoded.shape)
        if pixels < LEAST_PIXELS:
            return Refusal(Reason.TOO_FEW_PIXELS, {"given": pixels, "wanted": LEAST_PIXELS})
        if self.anyway:
            return None
        alike = neighbour_correlation(unit_rows(_flat(release, LOOKED_AT)), release.encoded.shape)
        return Refusal(Reason.NOT_GAUSSIAN, {"given": f"{alike:.2f}"}) if alike > NEIGHBOURS else None

    def work(self, task: Task) -> float:
        """Count the products of all rows, the fits of every row, and the solving of every pixel."""
        rows, images = float(min(self.rows, task.items)), float(task.images)
        overlaps = DOUBLE * rows**2 * (task.pixels + images)
        fits = 2 * REFITS * rows * (DOUBLE * images**2 + CANDIDATES**2 * LOOKUP)
        begun = DOUBLE * task.pixels * images**2 * (rows + POWERS)
        stepped = DOUBLE * ROUNDS * 3 * STEPS * task.pixels * rows * images
        degree = 2 * rows / max(1.0, images)
        searched = ROUNDS * SWEEPS * task.pixels * images * degree**2 * LOOKUP / 50
        return overlaps + fits + begun + stepped + searched

    def within(self, work: float, task: Task) -> Self:
        """Attack fewer rows."""
        if self.work(task) <= work:
            return self
        most = min(self.rows, task.items)
        return replace(self, rows=largest(lambda rows: replace(self, rows=rows).work(task), LEAST_ROWS, most, work))


def _flat(release: EncodedRelease, rows: int) -> Array:
    """Give the first rows as numbers of double precision."""
    return release.encoded.pixels(slice(rows)).flatten(1).double().numpy()


def _links(scores: Array) -> Links:
    """Claim the pairs of the first rows, by their overlaps."""
    first, second = np.triu_indices(min(len(scores), LINKED), 1)
    given = torch.from_numpy(scores[first, second].astype(np.float32))
    return Links(torch.from_numpy(first), torch.from_numpy(second), given, OVERLAP)


def _unexplained(overlaps: Array, factor: Array) -> float:
    """Give the root mean square of what the factor leaves of the overlaps; 1/√pixels where it is right."""
    left = overlaps - factor @ factor.T
    np.fill_diagonal(left, 0.0)
    return float(np.sqrt(np.square(left).mean()))
