"""How well a row's mask, or the image that it was made for, was found: one score a row."""

import math
from dataclasses import replace

import torch
from jaxtyping import Int
from torch import Tensor

from hideseek.errors import BadInput
from hideseek.progress import track
from hideseek.records import Attribution, Masks
from hideseek.records.mixing_secret import MixingSecret
from hideseek.score.ground_truth import blocks
from hideseek.score.metric import Metric, Scores


def wrong_signs(claim: Masks, secret: MixingSecret) -> Scores:
    """Give the share of a row's signs that are wrong, mean (1 − σ σ̂) / 2; a sign that was left open, 0, counts half."""
    if secret.mask is None:
        raise BadInput("this release has no masks.")
    found = torch.empty(len(claim.rows), dtype=torch.float64)
    for rows in track(blocks(len(found), math.prod(secret.private.shape)), "scoring"):
        chosen = claim.rows[rows].long()
        truth = replace(secret, sources=secret.sources[chosen], mask=secret.mask[chosen]).signs()
        agreement = (truth * claim.signs[rows]).flatten(1).double().mean(1)
        found[rows] = (1 - agreement) / 2
    return found


def wrong_signs_flipped(claim: Masks, secret: MixingSecret) -> Scores:
    """Give the same up to a flip of all signs of a row: the smaller of s and 1 − s."""
    share = wrong_signs(claim, secret)
    return torch.minimum(share, 1 - share)


def accuracy(claim: Attribution, secret: MixingSecret) -> Scores:
    """Tell whether the image with the highest score is the one that the row was made for; ties share the credit."""
    if not claim.scores.shape[1]:
        return torch.zeros(len(claim.rows), dtype=torch.float64)
    top = claim.scores == claim.scores.amax(1, keepdim=True)
    right = claim.candidates[None, :] == _made_for(claim, secret)[:, None]
    return (top & right).sum(1).double() / top.sum(1)


def _by_chance(claim: Attribution, secret: MixingSecret) -> Scores:
    """Give 1 / candidates where the row's image is among them, else 0."""
    among = (claim.candidates[None, :] == _made_for(claim, secret)[:, None]).any(1)
    return among.double() / max(1, len(claim.candidates))


def _made_for(claim: Masks | Attribution, secret: MixingSecret) -> Int[Tensor, " n"]:
    return secret.sources[claim.rows.long(), 0]


METRICS = {
    "wrong-signs": Metric(Masks, wrong_signs, _made_for, False, "share", "the share of a row's signs that are wrong"),
    "wrong-signs-flipped": Metric(
        Masks, wrong_signs_flipped, _made_for, False, "share", "the same up to a flip of all signs of a row"
    ),
    "accuracy": Metric(
        Attribution,
        accuracy,
        _made_for,
        True,
        "share",
        "the share of rows whose image is named first",
        chance=_by_chance,
    ),
}
