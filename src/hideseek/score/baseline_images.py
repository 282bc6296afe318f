"""Images that a baseline which ignores the release answers with: private ones, so that no better are to be had."""

import math
from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.records import Reconstruction, Samples
from hideseek.records.secret import Secret
from hideseek.score.ground_truth import BLOCK, Matched, blocks, candidates, held, likeness, match_guesses
from hideseek.score.matching import one_to_one


def mean_image(private: Samples, absolute: bool = False) -> Float[Tensor, "c h w"]:
    """Average all private images, or their absolute values."""
    total = torch.zeros(private.shape, dtype=torch.float64)
    for rows in blocks(len(private), math.prod(private.shape)):
        pixels = private.pixels(rows).double()
        total += (pixels.abs() if absolute else pixels).sum(0).cpu()
    return (total / len(private)).float()


def heaviest(claim: Reconstruction, secret: Secret) -> Int[Tensor, " guesses"]:
    """Give the class of the image that a guess is about; of an item's images, of that with the largest share."""
    truths = candidates(claim, secret)
    if claim.of == "items":
        truths = truths.gather(1, secret.shares(claim.about.long()).argmax(1, keepdim=True))
    return secret.private.labels.cpu()[truths[:, 0].clamp_min(0)].argmax(1)


def class_means(
    claim: Reconstruction, truths: Int[Tensor, "guesses truths"], classes: Int[Tensor, " guesses"], private: Samples
) -> Reconstruction:
    """Answer with the mean of the private images of a class, those left out that the guess may be judged by."""
    own = private.labels.cpu().argmax(1)
    images = torch.zeros(len(truths), *private.shape)
    about = claim.about.clone()
    for label in classes.unique().tolist():
        members, asked = (own == label).nonzero().flatten(), (classes == label).nonzero().flatten()
        total = torch.zeros(private.shape, dtype=torch.float64)
        for rows in blocks(len(members), math.prod(private.shape)):
            total += private.pixels(members[rows]).double().sum(0).cpu()
        for rows in blocks(len(asked), math.prod(private.shape)):
            left, count = total.expand(rows.stop - rows.start, *private.shape).clone(), torch.tensor(len(members))
            judged_by = truths[asked[rows]]
            for place, column in enumerate(judged_by.T):
                again = (judged_by[:, :place] == column[:, None]).any(1)
                known = column.clamp_min(0)
                within = (column >= 0) & (own[known] == label) & ~again
                left -= within[:, None, None, None] * private.pixels(known).double().cpu()
                count = count - within.long()
            images[asked[rows]] = (left / count.clamp_min(1)[:, None, None, None]).float()
            about[asked[rows][count <= 0]] = -1
    return replace(claim, images=images, about=about)


def others(
    truths: Int[Tensor, "guesses truths"],
    private: Samples,
    chance: Randomness,
    classes: Int[Tensor, " guesses"] | None = None,
) -> Int[Tensor, " guesses"]:
    """Draw for each guess another private image than its ground truths, of a class if given; −1: there is none."""
    drawn = torch.empty(len(truths), dtype=torch.int64)
    own = private.labels.cpu().argmax(1) if classes is not None else None
    for rows in blocks(len(truths), len(private), BLOCK):
        allowed = torch.ones(rows.stop - rows.start, len(private), dtype=torch.bool)
        if classes is not None and own is not None:
            allowed = own[None, :] == classes[rows, None]
        own_images = torch.zeros(len(allowed), len(private) + 1, dtype=torch.bool)
        own_images.scatter_(1, truths[rows] + 1, True)  # −1, no image, is before the first
        until = (allowed & ~own_images[:, 1:]).cumsum(1)
        count = until[:, -1]
        pick = 1 + (chance.uniforms(len(count)) * count).long()
        drawn[rows] = torch.where(count > 0, torch.searchsorted(until, pick[:, None])[:, 0], -1)
    return drawn


def answering(claim: Reconstruction, private: Samples, others: Int[Tensor, " guesses"]) -> Reconstruction:
    """Claim that these private images are what the guesses were about."""
    about = torch.where(others < 0, -1, claim.about)
    return replace(claim, images=private.pixels(others.clamp_min(0)).cpu(), about=about)


def matched_sample(count: int, secret: Secret, chance: Randomness) -> Matched:
    """Draw private images, distinct while they last, and match each to another one that it is like."""
    private = secret.private
    drawn = chance.permutation(len(private))[torch.arange(count) % len(private)]
    images = private.pixels(drawn)
    alike = likeness(images, secret)
    alike[torch.arange(count), drawn] = -float(count + 1)  # worse than all others together
    about = one_to_one(alike)
    return Matched(images.cpu(), torch.where(about == drawn, -1, about), "images")


def matched_within(items: Int[Tensor, " guesses"], secret: Secret, chance: Randomness) -> Reconstruction:
    """Draw for each guess a private image that is not in its item, and match those of one item to its images."""
    drawn = others(held(items, secret), secret.private, chance)
    about = torch.where(drawn < 0, -1, items)
    images = secret.private.pixels(drawn.clamp_min(0)).cpu()
    return match_guesses(Reconstruction(images, about, "batches"), secret)
