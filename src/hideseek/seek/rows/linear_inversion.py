"""Solving for the images when the weights are known (Singularized Mixup, §5 and Appendix F), and better than there."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from hideseek.chance import Randomness
from hideseek.device import device
from hideseek.errors import BadInput
from hideseek.progress import track
from hideseek.records import Attack, EncodedRelease, Evidence, Reconstruction, Refusal, Samples, Task
from hideseek.seek.run import check
from hideseek.seek.systems.image_prior import prior_work
from hideseek.seek.systems.least_squares import ridge_work
from hideseek.seek.systems.linear_system import misfit, mixing_matrix, not_linear
from hideseek.seek.systems.weights_from_labels import with_read_weights
from hideseek.seek.systems.wiener import expected_images, solved_images, without_like_images
from hideseek.seek.work import CALL, TOUCH, largest

LEAST_STEPS = 20  # of Adam


@dataclass(frozen=True)
class LinearInversion(Attack[EncodedRelease]):
    """Solve for the private images, where the weights and the images of every row are known.

    Rows are Y = W X + E: row r is Σ_j λ_rj x_{s_rj}, plus what is unknown: noise, and images whose places are not given
    (public ones).

    `adam` is the paper's attack: min over X of mean (Y − W X)² + 10⁻³ TV(X) + 10⁻⁴ mean X², 200 steps of Adam.
    `exact` is the answer that it walks towards: least squares, by a sparse factorisation. W may be near-singular (a
    ring of rows with like weights), so a ridge of 10⁻¹³ stands in for the rounding of float32. With the prior
    `public`, it is the linear optimum (Wiener): images have the mean and covariance of the attacker's own or public
    images, the noise its known variance.

    All answers are clamped to the range of pixels in [0, 1] after the release's normalisation, where that is by
    channel; values without such a range (normalised by image, or not at all, as features) are not.

    Deviation: the paper does not say where Adam starts (here: at zero), nor how its terms are averaged (here: over the
    pixels of an image, and summed over images, so that the number of images does not matter), and scales images to
    224×224 first.
    """

    sees: ClassVar[type[EncodedRelease]] = EncodedRelease
    source: ClassVar[str] = "Singularized Mixup §5; the Gaussian optimum is ours"

    method: Literal["adam", "exact"] = "exact"
    """How the system is solved."""
    prior: Literal["none", "public"] = "none"
    """What is known of images beforehand: nothing, or what own or public ones have in common (exact only)."""
    steps: int = 200
    """Of Adam."""
    rate: float = 0.05
    """Of Adam."""
    total_variation: float = 1e-3
    """The weight of Adam's penalty on differences between neighbouring pixels."""
    penalty: float = 1e-4
    """The weight of Adam's penalty on squares."""
    weights: Literal["given", "labels"] = "given"
    """Whether weights are known, or read from labels: exact where classes differ, else their expected values."""

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override] # by value, not by class
        """Name what must be known of the mix."""
        return ("weights", "sources") if self.weights == "given" else ("sources",)

    def __post_init__(self) -> None:
        if self.method == "adam" and self.prior != "none":
            raise BadInput("Adam has penalties in place of a prior: choose the method exact to use public images.")
        if self.steps < 1 or not 0 < self.rate < math.inf:
            raise BadInput(f"Adam takes one step or more at a positive rate, not {self.steps} at {self.rate}.")

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        """Solve for all private images; chance draws only the own rows whose weights tell how weights vary."""
        check(self, release)
        unsure, known = None, {}
        if self.weights == "labels":
            release, unsure, share = with_read_weights(release, chance)
            known = {"share of weights that labels show": round(share, 4)}
        matrix = mixing_matrix(release)
        if self.method == "adam":
            images = self._descended(release, matrix.shape[1])
        elif self.prior == "none":
            images = solved_images(release, matrix)
        else:
            images = expected_images(release, matrix, unsure)
        missed, rows = misfit(release, matrix, images)
        limits = pixel_range(release.encoded)
        images = images.reshape(-1, *release.encoded.shape)
        gain = float(images.norm()) / math.sqrt(max(1, images.numel()))
        if limits is not None:
            images.clamp_(*limits)  # in place: all images at once are large
        remarks = {
            "rows": matrix.shape[0],
            "images": matrix.shape[1],
            "residual": round(missed / max(rows, 1e-30), 6),
            "gain": round(gain / max(rows, 1e-30), 6),
            **known,
        }
        return Evidence((Reconstruction(images, torch.arange(len(images)), "images"),), remarks)

    def refuses(self, release: EncodedRelease) -> Refusal | None:
        """Refuse masks and moved images, and an attacker whose prior has no images."""
        refusal = not_linear(release)
        informed = self.prior == "public" or self.weights == "labels"
        return without_like_images(release) if informed and refusal is None else refusal

    def work(self, task: Task) -> float:
        """Count the steps of Adam, or what solving takes; and the prior."""
        mixed = task.items * task.images_per_item + task.images
        work = 12.0 * mixed * task.pixels * TOUCH + 500 * CALL
        if self.method == "adam":
            return work + self.steps * (9 * mixed * task.pixels * TOUCH + 50 * CALL)
        if self.prior == "public":
            work += prior_work(task)
        return work + ridge_work(task, separate=self.prior == "public")

    def within(self, work: float, task: Task) -> Self:
        """Take fewer steps of Adam; solving exactly takes what it takes."""
        if self.method == "exact":
            return self
        return replace(
            self, steps=largest(lambda steps: replace(self, steps=steps).work(task), LEAST_STEPS, self.steps, work)
        )

    def _descended(self, release: EncodedRelease, count: int) -> Float[Tensor, "n pixels"]:
        """Descend by Adam from zero, clamped after every step."""
        assert release.sources is not None and release.weights is not None  # noqa: S101, PT018 (`needs`)
        place, encoded = device(), release.encoded
        sources = release.sources.to(place)
        weights = release.weights[:, : sources.shape[1]].to(place)
        rows = encoded.pixels().flatten(1).to(place)
        limits = [limit.to(place) for limit in pixel_range(encoded) or ()]
        images = torch.zeros(count, rows.shape[1], device=place, requires_grad=True)
        optimiser = torch.optim.Adam([images], lr=self.rate)
        for _ in track(range(self.steps), "descending"):
            optimiser.zero_grad()
            mixed = functional.embedding_bag(sources, images, mode="sum", per_sample_weights=weights)
            shaped = images.view(count, *encoded.shape)
            loss = (mixed - rows).square().mean(1).sum() + self.penalty * images.square().mean(1).sum()
            for differences in (shaped.diff(dim=2), shaped.diff(dim=3)):
                if differences.numel():  # an image of one pixel has no neighbours
                    loss = loss + self.total_variation * differences.abs().mean((1, 2, 3)).sum()
            loss.backward()
            optimiser.step()
            if limits:
                with torch.no_grad():
                    shaped.clamp_(*limits)
        return images.detach().cpu()


def pixel_range(samples: Samples) -> tuple[Float[Tensor, "c 1 1"], Float[Tensor, "c 1 1"]] | None:
    """Give the values of black and white in each channel; nothing where pixels have no such range."""
    constants = samples.normalisation
    if constants.kind != "channel" or samples.shape[1:] == (1, 1):  # features have no black and white
        return None
    mean, std = (torch.tensor(part)[:, None, None] for part in (constants.mean, constants.std))
    return -mean / std, (1 - mean) / std
