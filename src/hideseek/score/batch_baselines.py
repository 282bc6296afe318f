"""Baselines of guesses that are matched within their item: an update's images, in no order."""

from collections.abc import Iterator

import torch
from jaxtyping import Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.records import Reconstruction
from hideseek.records.secret import Secret
from hideseek.score.baseline_images import SEVERAL, answering, averaged, class_means, others, smoothed
from hideseek.score.ground_truth import held, match_guesses


def matched_within(
    items: Int[Tensor, " guesses"], secret: Secret, chance: Randomness
) -> Iterator[tuple[str, Reconstruction]]:
    """Draw for each guess private images that are not in its item, smooth them, and match those of one item to its."""
    own = held(items, secret)
    all_drawn = torch.stack([others(own, secret.private, chance) for _ in range(SEVERAL)], 1)
    about = torch.where(all_drawn[:, 0] < 0, -1, items)
    for name, several, smooth in smoothed(secret.private):
        images = averaged(all_drawn[:, :several], secret.private, smooth)
        yield name, match_guesses(Reconstruction(images, about, "batches"), secret)


def of_classes_within(
    items: Int[Tensor, " guesses"], secret: Secret, chance: Randomness
) -> Iterator[tuple[str, Reconstruction]]:
    """Answer by the labels of an item alone, which its gradient shows: by means of classes, or other images of them.

    No image of the item itself is in the mean, nor drawn.
    """
    own, private = held(items, secret), secret.private
    counts = (own >= 0).sum(1)
    earlier = torch.stack([(items[:place] == item).sum() for place, item in enumerate(items)])
    members = own.gather(1, (earlier % counts.clamp_min(1))[:, None])[:, 0]
    classes = private.labels.cpu().argmax(1)[members.clamp_min(0)]
    about = torch.where(counts > 0, items, -1)
    claim = Reconstruction(torch.zeros(len(items), *private.shape), about, "batches")
    yield "mean image of the class", match_guesses(class_means(claim, own, classes, private), secret)
    drawn = others(own, private, chance, classes)
    yield "random image of the class", match_guesses(answering(claim, private, drawn), secret)
