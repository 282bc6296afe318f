"""Decoding: updates of encoded images are inverted, and the encodings of all rounds solved for the images in them."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import torch

from hideseek.chance import Randomness
from hideseek.records import Attack, EncodedRelease, Evidence, Reason, Reconstruction, Refusal, Task
from hideseek.records.update_release import UpdateRelease
from hideseek.seek.run import check
from hideseek.seek.updates.finite import not_finite
from hideseek.seek.updates.first_layer import FirstLayer
from hideseek.seek.updates.gradient_matching import GradientMatching
from hideseek.seek.updates.inverted_rows import InvertedRows, inverted_rows, matched_rows, rows_by_layer, without_values
from hideseek.seek.updates.joint_images import JointImages
from hideseek.seek.work import largest

STEP = 8  # forward passes that a step of matching is worth
LEAST_EPOCHS, LEAST_STEPS = 4, 60
PARTS = 20  # that steps are divided into, where there is time for some of them
USUAL = 4  # images in a row, where work is planned


@dataclass(frozen=True)
class DecodeUpdates(Attack[UpdateRelease]):
    """Invert updates of encoded images into their rows, and attack these as if they had been shared.

    Updates g = (1/n) Σ_r ∇L(x̃_r, ỹ_r) are of rows x̃_r = Σ_j λ_rj x_{s_rj}, under a mask or not. Rows come back
    exactly, with their labels, where a dense layer comes first (`first`), and by gradient matching elsewhere
    (`matching`). An attack on rows does the rest: `unmasked` or `masked`, by whether they have a mask. Huang et al.
    (2021, §5.2) pool the encodings of up to 20 epochs so, with indices and λ known.
    """

    sees: ClassVar[type[UpdateRelease]] = UpdateRelease
    needs: ClassVar[tuple[str, ...]] = ("round_of",)
    source: ClassVar[str] = "Huang et al. 2021, decoding; rows with their labels, and attacks on these: hideseek"

    unmasked: Attack[EncodedRelease] | None = None
    """The attack on rows without a mask."""
    masked: Attack[EncodedRelease] | None = None
    """The attack on rows under a mask of signs."""
    first: FirstLayer = field(default_factory=FirstLayer)
    """How a dense first layer is solved."""
    matching: GradientMatching = field(default_factory=GradientMatching)
    """How other updates are inverted."""

    def seek(self, release: UpdateRelease, chance: Randomness) -> Evidence:
        """Invert, and attack the rows."""
        check(self, release)
        return self._attacked(release, inverted_rows(release, self.first, self.matching, chance), chance)

    def _attacked(self, release: UpdateRelease, found: InvertedRows, chance: Randomness) -> Evidence:
        """Attack rows."""
        attack = self._rows(release)
        assert attack is not None  # noqa: S101 (`refuses`)
        evidence = attack.seek(found.release(release), chance)
        claims = tuple(_about_images(each) for each in evidence.claims if isinstance(each, Reconstruction))
        return Evidence(claims, {**found.remarks, **evidence.remarks})

    def refuses(self, release: UpdateRelease) -> Refusal | None:
        """Refuse images that were not mixed, what is no number, and what the attack on rows refuses."""
        attack = self._rows(release)
        if attack is not None and (reason := not_finite(release)) is not None:
            return reason
        return Refusal(Reason.NOT_ENCODED) if attack is None else attack.refuses(without_values(release))

    def work(self, task: Task) -> float:
        """Count what inverting takes, by the layer or by matching, and the attack on rows."""
        attacks = [each.work(_rows_of(task)) or 0.0 for each in (self.unmasked, self.masked) if each is not None]
        return max(self.first.work(task), self.matching.work(task)) + max(attacks, default=0.0)

    def within(self, work: float, task: Task) -> Self:
        """Invert with fewer steps, and search less; the attack on rows is left as it is."""
        return self._part(largest(lambda part: self._part(part).work(task), 1, PARTS, work))

    def _part(self, part: int) -> Self:
        """Give it with a part of the steps of every kind, but for the least that makes sense."""
        steps, rounds = self.matching.optimiser.steps, self.first.rounds
        fewer = self.matching.optimiser.lowered(max(min(LEAST_STEPS, steps), steps * part // PARTS))
        return replace(
            self,
            matching=replace(self.matching, optimiser=fewer),
            first=replace(self.first, rounds=max(1, rounds * part // PARTS)),
        )

    def _rows(self, release: UpdateRelease) -> Attack[EncodedRelease] | None:
        """Give the attack on these rows."""
        encoding = release.scheme.encoding
        return None if encoding is None else self.masked if encoding.masked else self.unmasked


@dataclass(frozen=True)
class DecodeKnown(DecodeUpdates):
    """Invert updates of encoded images, and solve for these, where it is known what is mixed in each row.

    Where rows have no mask, and several of them share an update whose first layer is not dense, the images
    themselves are sought, in all updates together (`joint`): an image is in k rows of every round.
    """

    needs: ClassVar[tuple[str, ...]] = ("round_of", "labels", "sources", "weights")

    joint: JointImages | None = field(default_factory=JointImages)
    """How images are sought in all updates; None: updates are inverted one by one (Huang et al. 2021)."""

    def seek(self, release: UpdateRelease, chance: Randomness) -> Evidence:
        """Invert and solve, or seek the images at once."""
        check(self, release)
        encoding, work = release.scheme.encoding, release.scheme.work
        single = release.sizes is not None and max(release.sizes) == 1  # rows that layers may tell one after the other
        together = encoding is not None and not encoding.masked and work.one_gradient and not single
        if (rows := rows_by_layer(release, self.first, chance)) is not None:
            return self._attacked(release, rows, chance)
        if self.joint is None or not together:
            return self._attacked(release, matched_rows(release, self.matching, chance), chance)
        assert release.sources is not None  # noqa: S101 (`needs`)
        count = 1 + max(int(each.max()) for each in release.sources)
        images = self.joint.images(release, count, chance)
        remarks: dict[str, Any] = {"images": count, "images by": f"{len(release.updates)} updates together"}
        return Evidence((Reconstruction(images, torch.arange(count), "images"),), remarks)

    def work(self, task: Task) -> float:
        """Count the steps of all updates, or what inverting takes."""
        if self.joint is None:
            return super().work(task)
        steps = float(self.joint.epochs) * task.items * task.images_per_item * max(task.network, 1.0) * STEP
        return max(steps, super().work(task))  # one or the other: which, the release tells

    def _part(self, part: int) -> Self:
        """See updates less often, too."""
        fewer, joint = super()._part(part), self.joint
        if joint is None:
            return fewer
        seen = max(min(LEAST_EPOCHS, joint.epochs), joint.epochs * part // PARTS)
        return replace(fewer, joint=replace(joint, epochs=seen))


def _rows_of(task: Task) -> Task:
    """Give the size of the release of rows that updates are of."""
    return replace(task, items=task.items * task.images_per_item, images_per_item=USUAL)


def _about_images(claim: Reconstruction) -> Reconstruction:
    """Give a claim about rows as one about images: rows have no numbers in a release of updates."""
    return claim if claim.of == "images" else Reconstruction(claim.images, torch.arange(len(claim.images)), "any")
