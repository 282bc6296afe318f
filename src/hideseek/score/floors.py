"""What an attacker who found nothing could claim; judged like any claim, it is the floor under every score."""

from collections.abc import Iterator
from dataclasses import replace
from functools import singledispatch

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.randomness import Randomness
from hideseek.records import Attribution, Claim, Links, Masks, Reconstruction, Uncovered
from hideseek.records.secret import MixingSecret
from hideseek.score.idle_images import answering, class_means, heaviest, matched_sample, mean_image, others
from hideseek.score.truths import Matched, blocks, candidates, settled

DRAWN = (
    "random order",
    "shuffled scores",
    "random guess",
)  # chance, drawn once: not used where it is known
Floors = Iterator[tuple[str, Claim]]


@singledispatch
def floors(claim: Claim, secret: MixingSecret, chance: Randomness) -> Floors:
    """Give claims like this one by an attacker without a clue, one after another, by their names.

    Item by item they are about the same as the claim's items, so that the two can be compared in pairs.
    """
    yield from ()


@floors.register
def _of_reconstruction(claim: Reconstruction, secret: MixingSecret, chance: Randomness) -> Floors:
    """Answer with the mean of all private images or of the class, with another one of the class, or with any other.

    A row's class is that of its heaviest private image, which its label shows. The truth is not in the mean of its
    class, which may be small. Where there is no other image, the floor is about nothing (−1).
    Deviation: without an order no class is known, and guesses are matched; so the floor is a random sample of the
    private images, matched like the guesses, except that no image is matched to itself.
    """
    private = secret.private
    streams = chance.spawn(2)
    averages = {"mean image": mean_image(private).expand_as(claim.images)}
    if secret.mask is not None:  # then absolute values are what anybody can average
        averages["mean of absolute values"] = mean_image(private, absolute=True).expand_as(claim.images)
    if claim.of == "any" or isinstance(claim, Matched):
        for name, average in averages.items():
            yield name, settled(Reconstruction(average, claim.about, "any"), secret)
        yield "random image", matched_sample(len(claim.images), private, streams[1])
        return
    for name, average in averages.items():
        yield name, replace(claim, images=average)
    truths = candidates(claim, secret)
    if private.labels.shape[1] > 1:
        classes = heaviest(claim, secret)
        yield "mean image of the class", class_means(claim, truths, classes, private)
        yield "random image of the class", answering(claim, private, others(truths, private, streams[0], classes))
    yield "random image", answering(claim, private, others(truths, private, streams[1]))


@floors.register
def _of_uncovered(claim: Uncovered, secret: MixingSecret, chance: Randomness) -> Floors:
    """Answer with public images in a random order."""
    count, kept = claim.candidates.shape
    drawn = torch.empty(count, kept, dtype=torch.int64)
    for rows in blocks(count, claim.among):
        drawn[rows] = chance.uniforms(rows.stop - rows.start, claim.among).argsort(1)[:, :kept]
    yield "random order", replace(claim, candidates=drawn)


@floors.register
def _of_links(claim: Links, secret: MixingSecret, chance: Randomness) -> Floors:
    """Deal the scores out to the pairs at random; or go by the labels, which are shared: ⟨ỹ_1, ỹ_2⟩.

    Rows that share an image share its class: telling classes apart is not yet telling images apart.
    """
    yield "shuffled scores", replace(claim, scores=claim.scores[chance.permutation(len(claim.scores))])
    if secret.private.labels.shape[1] > 1:
        labels = mixed_labels(secret)
        alike = (labels[claim.first.long()] * labels[claim.second.long()]).sum(1)
        yield "labels alone", replace(claim, scores=alike.to(claim.scores))


@floors.register
def _of_masks(claim: Masks, secret: MixingSecret, chance: Randomness) -> Floors:
    """Flip a coin for every sign."""
    yield "coin flips", replace(claim, signs=chance.signs(*claim.signs.shape))


@floors.register
def _of_attribution(claim: Attribution, secret: MixingSecret, chance: Randomness) -> Floors:
    """Score the candidates at random, or by how much of their class is in the row's label, which is shared."""
    yield "random guess", replace(claim, scores=chance.uniforms(*claim.scores.shape))
    if secret.private.labels.shape[1] > 1:
        classes = secret.private.labels.cpu()[claim.candidates.long()].double()
        alike = mixed_labels(secret)[claim.rows.long()] @ classes.T
        yield "labels alone", replace(claim, scores=alike.to(claim.scores))


def mixed_labels(secret: MixingSecret) -> Float[Tensor, "m classes"]:
    """Give the labels of all rows, ỹ_r = Σ_j λ_rj y_j over their private images."""
    weights = secret.weights[:, : secret.sources.shape[1]].cpu().double()
    return torch.einsum("mk,mkc->mc", weights, secret.private.labels.cpu().double()[secret.sources.cpu()])
