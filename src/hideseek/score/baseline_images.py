"""Images that a baseline which ignores the release answers with: private ones, so that no better are to be had."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.records import Reconstruction, Samples
from hideseek.records.secret import Secret
from hideseek.score.ground_truth import BLOCK, Matched, blocks, candidates, likeness
from hideseek.score.matching import one_to_one
from hideseek.score.smoothing import blurred, low_frequencies

WIDTHS, FREQUENCIES = (3, 5), (4, 6)  # of smoothed images
SEVERAL = 4  # images that are averaged


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


def averaged(
    drawn: Int[Tensor, "guesses several"], private: Samples, smooth: Callable[[Tensor], Tensor]
) -> Float[Tensor, "guesses c h w"]:
    """Average several private images for each guess, and smooth the average."""
    images = torch.empty(len(drawn), *private.shape)
    for rows in blocks(len(drawn), math.prod(private.shape)):
        several = (private.pixels(column.clamp_min(0)).cpu() for column in drawn[rows].T)
        images[rows] = smooth(torch.stack(tuple(several)).mean(0))
    return images


def smoothed(private: Samples) -> Iterator[tuple[str, int, Callable[[Tensor], Tensor]]]:
    """Give the ways to answer with unrelated images: the name, how many are averaged, how they are smoothed.

    Smooth images are like all others: unrelated ones, blurred and matched, are more like the private images than
    sharp ones are. Which width is best depends on the images; together these come close to it for digits, faces,
    X-rays and photographs. An attack that averages rows of different images answers with means of a few.
    """
    yield "random image", 1, lambda images: images
    if private.shape[1:] != (1, 1):  # features have no neighbours
        for width in WIDTHS:
            yield f"random image, blurred {width}×{width}", 1, partial(blurred, width=width)
        for count in FREQUENCIES:
            yield f"random image, {count}×{count} lowest frequencies", 1, partial(low_frequencies, count=count)
    yield f"mean of {SEVERAL} random images", SEVERAL, lambda images: images


def matched_samples(count: int, secret: Secret, chance: Randomness) -> Iterator[tuple[str, Reconstruction]]:
    """Draw private images, distinct while they last, smooth them, and match each to another one that it is like."""
    private, each = secret.private, torch.arange(count)
    orders = [chance.permutation(len(private))[each % len(private)] for _ in range(SEVERAL)]
    for name, several, smooth in smoothed(private):
        drawn = torch.stack(orders[:several], 1)
        images = averaged(drawn, private, smooth)
        alike = likeness(images, secret)
        alike.scatter_(1, drawn, -float(2 * count + 1))  # worse than all others together, from −1 to 1
        about = one_to_one(alike)
        own = (about[:, None] == drawn).any(1)
        yield name, Matched(images, torch.where(own, -1, about), "images")
