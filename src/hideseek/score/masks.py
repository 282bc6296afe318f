"""The claim that these are the signs of a row's mask: how many are right, one score a row."""

import math
from collections.abc import Iterator
from dataclasses import replace

import torch
from jaxtyping import Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.progress import track
from hideseek.records import Masks, Release
from hideseek.records.result import Harm
from hideseek.records.secret import Secret
from hideseek.score.checks import ADVICE, check_shape, check_within, of_mixing
from hideseek.score.claim_rules import Baseline, ClaimRules, Shown, as_it_is, counted, no_curves
from hideseek.score.gallery import Kind
from hideseek.score.ground_truth import blocks, made_for
from hideseek.score.guesses import guessed_masks
from hideseek.score.metric import Metric, Scores


def check(claim: Masks, secret: Secret) -> None:
    """Refuse rows that are not there, and what is no sign."""
    of_mixing(secret)
    check_shape(claim.signs, secret)
    check_within(claim.rows, secret.items, "row")
    if claim.signs.numel() and (int(claim.signs.min()) < -1 or int(claim.signs.max()) > 1):
        raise BadInput(f"signs are −1 and 1, or 0 where they are left open: {ADVICE}.")


def baselines(claim: Masks, secret: Secret, chance: Randomness) -> Iterator[Baseline]:
    """Flip a coin for every sign."""
    yield Baseline("coin flips", replace(claim, signs=chance.signs(*claim.signs.shape)), drawn=True)


def wrong_signs(claim: Masks, secret: Secret) -> Scores:
    """Give the share of a row's signs that are wrong, mean (1 − σ σ̂) / 2; a sign that was left open, 0, counts half."""
    if not secret.masked:
        raise BadInput("this release has no masks.")
    mixing = of_mixing(secret)
    found = torch.empty(len(claim.rows), dtype=torch.float64)
    for rows in track(blocks(len(found), math.prod(secret.private.shape)), "scoring"):
        agreement = (mixing.rows(claim.rows[rows].long()).signs() * claim.signs[rows]).flatten(1).double().mean(1)
        found[rows] = (1 - agreement) / 2
    return found


def wrong_signs_flipped(claim: Masks, secret: Secret) -> Scores:
    """Give the same up to a flip of all signs of a row: the smaller of s and 1 − s."""
    share = wrong_signs(claim, secret)
    return torch.minimum(share, 1 - share)


def examples(claim: Masks, release: Release, secret: Secret) -> list[Shown]:
    """Show the row whose signs were restored best, a median one and the worst, with its own signs and with those."""
    if not secret.masked or not len(claim.rows):
        return []
    wrong = wrong_signs(claim, secret)
    order = wrong.argsort()
    chosen: dict[Kind, Tensor] = {"best": order[0], "median": order[len(order) // 2], "worst": order[-1]}
    shown = []
    for kind, number in chosen.items():
        row = int(claim.rows[number])
        shared = release.picture(row)
        if shared is None:
            return []
        panels = (
            (
                "under the mask",
                shared * of_mixing(secret).rows(claim.rows[number : number + 1].long()).signs()[0],
                True,
            ),
            ("shared", shared, release.shows_private),
            ("signs restored", shared * claim.signs[number], True),
        )
        shown.append(Shown(kind, "row", row, "wrong-signs", float(wrong[number]), "share", panels))
    return shown


def _half(claim: Masks, secret: Secret) -> Scores:
    """Give what coin flips get wrong."""
    return torch.full((len(claim.rows),), 0.5, dtype=torch.float64)


def _groups(claim: Masks, secret: Secret) -> Int[Tensor, " n"]:
    return made_for(claim.rows, secret)


METRICS = {
    "wrong-signs": Metric(
        wrong_signs,
        _groups,
        False,
        "share",
        "the share of a row's signs that are wrong",
        "it restores signs: wrong signs {value}, 50 % by chance",
        chance=_half,
    ),
    "wrong-signs-flipped": Metric(
        wrong_signs_flipped, _groups, False, "share", "the same up to a flip of all signs of a row"
    ),
}

RULES = ClaimRules(
    claim=Masks,
    check=check,
    prepare=as_it_is,
    baselines=baselines,
    metrics=METRICS,
    decisive={"wrong-signs": Harm.PARTS},
    curves=no_curves,
    examples=examples,
    states=counted("masks of rows"),
    guesses=guessed_masks,
)
