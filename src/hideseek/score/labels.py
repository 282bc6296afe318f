"""The claim that an update is of images with these labels: how many are right, one score an update."""

from collections.abc import Iterator
from dataclasses import replace

import torch
from jaxtyping import Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records import Labels
from hideseek.records.result import Harm
from hideseek.records.secret import Secret
from hideseek.score.checks import ADVICE, check_within
from hideseek.score.claim_rules import Baseline, ClaimRules, as_it_is, counted, no_curves, no_examples, no_guesses
from hideseek.score.item_labels import item_labels
from hideseek.score.metric import Metric, Scores


def check(claim: Labels, secret: Secret) -> None:
    """Refuse updates and classes that are not there, and what is no share."""
    check_within(claim.about, secret.items, "update")
    classes = secret.private.labels.shape[1]
    if claim.shares.shape != (len(claim.about), classes):
        raise BadInput(f"the evidence has labels of {claim.shares.shape[-1]} classes, not of {classes}: {ADVICE}.")
    if claim.shares.numel() and (
        float(claim.shares.min()) < -1e-3 or float((claim.shares.sum(1) - 1).abs().max()) > 1e-3
    ):
        raise BadInput(f"labels are shares that sum to one: {ADVICE}.")


def baselines(claim: Labels, secret: Secret, chance: Randomness) -> Iterator[Baseline]:
    """Say that all images are of the most frequent class, that classes are as frequent as in all, or draw one."""
    classes = secret.private.labels.shape[1]
    whole = secret.private.labels.cpu().double().mean(0)
    for name, shares in (
        ("most frequent class", torch.eye(classes)[whole.argmax()]),
        ("all classes as they are", whole),
    ):
        yield Baseline(name, replace(claim, shares=shares.to(claim.shares).expand(len(claim.about), -1)))
    drawn = (chance.uniforms(len(claim.about)) * classes).long().clamp_max(classes - 1)
    yield Baseline("random class", replace(claim, shares=torch.eye(classes)[drawn].to(claim.shares)), drawn=True)


def labels_right(claim: Labels, secret: Secret) -> Scores:
    """Give the share of an update's labels that are right, Σ_c min(y_c, ŷ_c): of whole labels, the largest matching."""
    truth = item_labels(secret)[claim.about.long()]
    return torch.minimum(truth, claim.shares.double()).sum(1)


def _groups(claim: Labels, secret: Secret) -> Int[Tensor, " n"]:
    return secret.holds(claim.about)[:, 0]


RULES = ClaimRules(
    claim=Labels,
    check=check,
    prepare=as_it_is,
    baselines=baselines,
    metrics={
        "labels-right": Metric(
            labels_right,
            _groups,
            True,
            "share",
            "the share of an update's labels that are named",
            "it names {value} of the labels of an update ({baseline} by {name})",
        )
    },
    decisive={"labels-right": Harm.PARTS},
    curves=no_curves,
    examples=no_examples,
    states=counted("updates, with their labels"),
    guesses=no_guesses,
)
