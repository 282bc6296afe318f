"""Undoing a mask from the row alone: sums of images are smooth, and change their sign only where they are near 0."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch

from hideseek.chance import Randomness
from hideseek.records import Attack, EncodedRelease, Evidence, Reason, Reconstruction, Refusal, Task
from hideseek.records.result import Harm
from hideseek.seek.refusals import check_rows, check_spread
from hideseek.seek.run import check
from hideseek.seek.systems.smooth_signs import LARGEST, restored, smooth_work
from hideseek.seek.work import largest

FEWEST = 25  # rows whose squares tell what images are like


@dataclass(frozen=True)
class SmoothSigns(Attack[EncodedRelease]):
    """Give the mixture under each mask, from absolute values alone: no label, no key, no image used twice.

    ẑ = σ̂ ∘ x̃ with σ̂ = argmin_σ (σ ∘ x̃)' C⁻¹ (σ ∘ x̃): squares of rows tell the covariance C of what is masked, and
    the signs of a row are those that are likeliest under it (`seek/systems/smooth_signs.py`). Numbers that are shared
    less exactly, labels that are withheld, public images that nobody knows and images that were moved do not help: the
    mixture is as smooth. It shows the heaviest of its images to the eye, and to whoever has candidates.
    """

    sees: ClassVar[type[EncodedRelease]] = EncodedRelease
    source: ClassVar[str] = "ours"
    shows: ClassVar[Harm] = Harm.REIDENTIFIED

    rows: int = 1000
    """How many rows, the first ones."""

    def __post_init__(self) -> None:
        check_rows(self.rows)

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        """Claim that each row's mixture shows an image of it."""
        check(self, release)
        magnitudes = release.encoded.pixels(slice(self.rows)).abs()
        check_spread(magnitudes.square() - magnitudes.square().mean(0))
        found = restored(magnitudes, chance).view_as(magnitudes)
        return Evidence((Reconstruction(found, torch.arange(len(found))),), {"rows": len(found)})

    def refuses(self, release: EncodedRelease) -> Refusal | None:
        """Refuse rows without a mask, features, too large and too few ones."""
        shape, count = release.encoded.shape, min(self.rows, len(release.encoded))
        if not release.scheme.masked:
            return Refusal(Reason.NOT_MASKED)
        if max(shape[1:]) == 1:
            return Refusal(Reason.NO_NEIGHBOURS)
        if math.prod(shape) > LARGEST:
            return Refusal(Reason.TOO_MANY_PIXELS, {"given": math.prod(shape), "wanted": LARGEST})
        return Refusal(Reason.TOO_FEW_ROWS, {"given": count, "wanted": FEWEST}) if count < FEWEST else None

    def work(self, task: Task) -> float:
        """Count the rows."""
        return smooth_work(replace(task, items=min(self.rows, task.items)))

    def within(self, work: float, task: Task) -> Self:
        """Take fewer rows."""
        rows = largest(lambda rows: replace(self, rows=rows).work(task), min(FEWEST, self.rows), self.rows, work)
        return replace(self, rows=rows)
