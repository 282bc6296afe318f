"""What an attacker who found nothing could claim; judged like any claim, it is the baseline under every score."""

from collections.abc import Iterator
from dataclasses import replace
from functools import singledispatch

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.records import Attribution, Claim, Links, Masks, PublicImagesFound, Reconstruction
from hideseek.records.mixing_secret import MixingSecret
from hideseek.score.baseline_images import answering, class_means, heaviest, matched_sample, mean_image, others
from hideseek.score.ground_truth import Matched, blocks, candidates, match_guesses

DRAWN = (
    "random order",
    "shuffled scores",
    "random guess",
)  # chance, drawn once: not used where it is known
Baselines = Iterator[tuple[str, Claim]]


@singledispatch
def baselines(claim: Claim, secret: MixingSecret, chance: Randomness) -> Baselines:
    """Give claims like this one by an attacker without a clue, one after another, by their names.

    Item by item they are about the same as the claim's items, so that the two can be compared in pairs.
    """
    yield from ()


@baselines.register
def _of_reconstruction(claim: Reconstruction, secret: MixingSecret, chance: Randomness) -> Baselines:
    """Answer with the mean of all private images or of the class, with another one of the class, or with any other.

    A row's class is that of its heaviest private image, which its label shows. The truth is not in the mean of its
    class, which may be small. Where there is no other image, the baseline is about nothing (−1).
    Deviation: without an order no class is known, and guesses are matched; so the baseline is a random sample of the
    private images, matched like the guesses, except that no image is matched to itself.
    """
    private = secret.private
    streams = chance.spawn(2)
    averages = {"mean image": mean_image(private).expand_as(claim.images)}
    if secret.mask is not None:  # then absolute values are what anybody can average
        averages["mean of absolute values"] = mean_image(private, absolute=True).expand_as(claim.images)
    if claim.of == "any" or isinstance(claim, Matched):
        for name, average in averages.items():
            yield name, match_guesses(Reconstruction(average, claim.about, "any"), secret)
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


@baselines.register
def _of_uncovered(claim: PublicImagesFound, secret: MixingSecret, chance: Randomness) -> Baselines:
    """Answer with public images in a random order."""
    count, kept = claim.candidates.shape
    drawn = torch.empty(count, kept, dtype=torch.int64)
    for rows in blocks(count, claim.among):
        drawn[rows] = chance.uniforms(rows.stop - rows.start, claim.among).argsort(1)[:, :kept]
    yield "random order", replace(claim, candidates=drawn)


@baselines.register
def _of_links(claim: Links, secret: MixingSecret, chance: Randomness) -> Baselines:
    """Deal the scores out to the pairs at random; or go by the labels, which are shared: ⟨ỹ_1, ỹ_2⟩.

    Rows that share an image share its class: telling classes apart is not yet telling images apart.
    """
    yield "shuffled scores", replace(claim, scores=claim.scores[chance.permutation(len(claim.scores))])
    if secret.private.labels.shape[1] > 1:
        labels = mixed_labels(secret)
        alike = (labels[claim.first.long()] * labels[claim.second.long()]).sum(1)
        yield "labels alone", replace(claim, scores=alike.to(claim.scores))


@baselines.register
def _of_masks(claim: Masks, secret: MixingSecret, chance: Randomness) -> Baselines:
    """Flip a coin for every sign."""
    yield "coin flips", replace(claim, signs=chance.signs(*claim.signs.shape))


@baselines.register
def _of_attribution(claim: Attribution, secret: MixingSecret, chance: Randomness) -> Baselines:
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
