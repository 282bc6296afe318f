"""The same pairs mixed again in every round, as unshuffled batches do: regression on the weights separates them."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_array
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.records import Attack, EncodedRelease, Evidence, Reason, Reconstruction, Refusal, Samples, Task
from hideseek.seek.run import check
from hideseek.seek.systems.image_prior import prior_work
from hideseek.seek.systems.image_starts import pixel_limits
from hideseek.seek.systems.least_squares import ridge_work
from hideseek.seek.systems.linear_system import not_linear
from hideseek.seek.systems.wiener import expected_images, solved_images, without_like_images
from hideseek.seek.work import TOUCH

AGREE = 0.9  # of the places, whose rows must be of the same classes in all rounds; by chance it is some in a hundred


@dataclass(frozen=True)
class UnmixRepeats(Attack[EncodedRelease]):
    """Separate two images that are mixed with each other in every round, by what labels show of their weights.

    The published code of Singularized Mixup pairs each image with its neighbour in an unshuffled batch, in every epoch
    alike. Then the rows of one place are x̃_t = λ_t a + (1 − λ_t)(b + e_t), and where a and b are of two classes the
    labels are λ_t and 1 − λ_t: a regression on them over the rounds gives both images, and noise averages out as 1/T.
    No row needs to be linked with another: their places are their links (or `made_for`, where that is known). The
    image under the noise is the one with whose weight the length of rows grows. With images of the attacker's own, the
    regression is the Gaussian optimum (`wiener`), else least squares.

    A release of hideseek's is shuffled and draws partners anew in every round; it is refused, since the classes of one
    place then change from round to round. Pairs of one class are left out: their labels do not show λ_t.
    """

    sees: ClassVar[type[EncodedRelease]] = EncodedRelease
    source: ClassVar[str] = "the published code of Singularized Mixup; the attack is ours"

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        """Read the weights, and regress; nothing is left to chance."""
        check(self, release)
        order = _places(release)
        first, second, weights = _pairs(release.encoded.labels, order)
        several = (first != second).nonzero()[:, 0]
        rows = order[:, several]
        weights = _noisy_last(release, rows, weights[:, several])
        pairs, rounds = len(several), release.rounds
        sources = torch.arange(2 * pairs).view(pairs, 2).expand(rounds, -1, -1).reshape(-1, 2)
        entries = (np.repeat(np.arange(rounds * pairs), 2), sources.flatten().numpy())
        matrix = csr_array((weights.double().flatten().numpy(), entries), shape=(rounds * pairs, 2 * pairs))
        some = replace(
            release, encoded=_taken(release.encoded, rows.flatten()), weights=weights.reshape(-1, 2), sources=sources
        )
        informed = without_like_images(release) is None
        images = expected_images(some, matrix) if informed else solved_images(some, matrix)
        limits = pixel_limits(release.encoded.normalisation, release.encoded.shape)
        images = images.reshape(-1, *release.encoded.shape)
        remarks: dict[str, float | int | str] = {
            "pairs of two classes": pairs,
            "pairs of one class, left out": order.shape[1] - pairs,
            "solved by": "the Gaussian optimum" if informed else "least squares",
        }
        guesses = images if limits is None else images.clamp_(*limits)
        return Evidence((Reconstruction(guesses, rows[0].repeat_interleave(2), "batches"),), remarks)

    def refuses(self, release: EncodedRelease) -> Refusal | None:
        """Refuse rows that are no sums of two private images, single rounds, and pairs that change."""
        if (refusal := not_linear(release)) is not None:
            return refusal
        per_row = release.scheme.images_per_row
        if tuple(per_row) != (2, 0):
            return Refusal(Reason.NOT_IN_PAIRS, {"given": sum(per_row)})
        if release.rounds < 2:
            return Refusal(Reason.TOO_FEW_ROUNDS, {"wanted": 2})
        shown = release.mixed_labels > 0
        if not bool((shown.sum(1) == 2).any()):
            return Refusal(Reason.NO_CLASSES)
        classes = shown[_places(release)]
        same = (classes == classes[:1]).all(2).all(0)
        return None if float(same.float().mean()) >= AGREE else Refusal(Reason.NOT_REPEATED)

    def work(self, task: Task) -> float:
        """Count the solution of a system with twice as many images, and the prior."""
        return (
            12.0 * task.items * task.pixels * TOUCH
            + prior_work(task)
            + ridge_work(replace(task, images=2 * task.images), separate=True)
        )


def _places(release: EncodedRelease) -> Int[Tensor, "rounds places"]:
    """Give the rows of every round, those of one pair in one column."""
    rows = torch.arange(len(release.encoded)).view(release.rounds, -1)
    if release.made_for is None:
        return rows
    return rows.gather(1, release.made_for.view(release.rounds, -1).argsort(dim=1, stable=True))


def _pairs(
    labels: Float[Tensor, "n classes"], order: Int[Tensor, "rounds places"]
) -> tuple[Int[Tensor, " places"], Int[Tensor, " places"], Float[Tensor, "rounds places 2"]]:
    """Give the two classes of every place, twice the same where it shows one, and their masses in every round."""
    masses = labels[order]
    classes = masses.sum(0)
    first = classes.argmax(1)
    second = classes.scatter(1, first[:, None], 0.0).argmax(1)
    alone: Bool[Tensor, " places"] = (classes > 0).sum(1) < 2
    second = torch.where(alone, first, second)
    both = torch.stack([first, second], 1).expand(len(order), -1, -1)
    return first, second, masses.gather(2, both)


def _noisy_last(
    release: EncodedRelease, rows: Int[Tensor, "rounds pairs"], weights: Float[Tensor, "rounds pairs 2"]
) -> Float[Tensor, "rounds pairs 2"]:
    """Order each pair so that noise is on the second: ‖x̃_t‖² grows with w_2(t)² r² over the rounds."""
    squares = torch.stack([release.encoded.pixels(some).square().flatten(1).sum(1) for some in rows])
    apart = weights[..., 1] - weights[..., 0]
    swapped = ((squares - squares.mean(0)) * (apart - apart.mean(0))).sum(0) < 0
    return torch.where(swapped[None, :, None], weights.flip(2), weights)


def _taken(samples: Samples, rows: Int[Tensor, " rows"]) -> Samples:
    return samples if torch.equal(rows, torch.arange(len(samples))) else samples.take(rows)
