"""The claim that two items share a private image: how well such pairs were told from others.

An AUC has no items of its own, and a rate at few false alarms needs all pairs. So `auc` is that of each row's pairs,
one score a row; and `tpr_at_fpr` is one score a pair that shares: whether it is above the threshold of all pairs. The
mean of either is what one wants, and intervals come from drawing private images.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records import Links
from hideseek.records.result import Curve, Harm
from hideseek.records.secret import Secret
from hideseek.score.checks import check_within
from hideseek.score.claim_rules import Baseline, ClaimRules, as_it_is, no_examples, no_guesses
from hideseek.score.curve_points import POINTS, written
from hideseek.score.ground_truth import blocks, made_for
from hideseek.score.item_labels import BY_SIZE, classes_by_size, item_labels
from hideseek.score.link_areas import RankedPairs
from hideseek.score.link_test import beyond_labels
from hideseek.score.metric import Metric, Scores
from hideseek.score.roc import roc
from hideseek.score.row_groups import linked


def check(claim: Links, secret: Secret) -> None:
    """Refuse items that are not there, and pairs that are no pairs."""
    for items in (claim.first, claim.second):
        check_within(items, secret.items, "item")
    if bool((claim.first == claim.second).any()):
        raise BadInput("the evidence links an item with itself, which proves nothing: leave such pairs out.")


def baselines(claim: Links, secret: Secret, chance: Randomness) -> Iterator[Baseline]:
    """Deal the scores out to the pairs at random; or go by the labels, which are shared.

    Items that share an image share its class: telling classes apart is not yet telling images apart. Labels are alike
    by ⟨ỹ_1, ỹ_2⟩; and of the classes c in both items, each of n_c images, Σ 1/n_c is the chance to share one.
    """
    shuffled = claim.scores[chance.permutation(len(claim.scores))]
    yield Baseline("shuffled scores", replace(claim, scores=shuffled), drawn=True)
    if secret.private.labels.shape[1] > 1:
        labels = item_labels(secret)
        for name, one, other in (("labels alone", labels, labels), (BY_SIZE, *classes_by_size(labels, secret))):
            alike = (one[claim.first.long()] * other[claim.second.long()]).sum(1)
            yield Baseline(name, replace(claim, scores=alike.to(claim.scores)))


def sharing(claim: Links, secret: Secret) -> Bool[Tensor, " pairs"]:
    """Tell which pairs of items share a private image."""
    held = secret.holds(torch.arange(secret.items))
    found = torch.empty(len(claim.first), dtype=torch.bool)
    for pairs in blocks(len(found), held.shape[1] ** 2):
        first, second = (held[items[pairs].long()] for items in (claim.first, claim.second))
        same = (first[:, :, None] == second[:, None, :]) & (first[:, :, None] >= 0)
        found[pairs] = same.flatten(1).any(1)
    return found


def auc(claim: Links, secret: Secret) -> Scores:
    """Give, for every `first` row with pairs of both kinds, the chance that a sharing pair scores above another."""
    return _rows_and_areas(claim, secret)[1]


def _rows_and_areas(claim: Links, secret: Secret) -> tuple[Int[Tensor, " rows"], Scores]:
    """Give the rows that have pairs of both kinds, and their AUCs."""
    pairs = RankedPairs.of(claim)
    areas = pairs.areas(secret.holds(torch.arange(secret.items)).numpy(), len(secret.private))
    both = np.isfinite(areas)
    if not both.any():
        raise BadInput("no row has pairs of both kinds, with a shared private image and without.")
    return torch.from_numpy(pairs.queries[both]), torch.from_numpy(areas[both])


def tpr_at_fpr(false_alarms: float, claim: Links, secret: Secret) -> Scores:
    """Tell which sharing pairs score above the threshold that lets at most this share of other pairs pass."""
    shares = sharing(claim, secret)
    if shares.all() or not shares.any():
        raise BadInput("pairs of both kinds are needed, with a shared private image and without.")
    others = claim.scores[~shares].sort(descending=True).values
    return (claim.scores[shares] > others[int(false_alarms * len(others) + 1e-9)]).double()


def curves(claim: Links, secret: Secret) -> tuple[Curve, ...]:
    """Draw the ROC curve: how many pairs with a common image are found, by how many others are taken for such."""
    shares = sharing(claim, secret)
    if shares.all() or not shares.any():
        return ()
    false, true = (rate.numpy() for rate in roc(claim.scores.double(), shares))
    least = 1 / max(1, len(claim.scores))
    x = np.geomspace(max(least, 1e-4), 1, POINTS)
    y = true[np.searchsorted(false, x, side="right") - 1]  # the largest rate that the false alarms allow
    line = "pairs of rows with a common image that are found"
    title = "Rows that share an image"
    return (Curve(title, "false alarms", line, written(x), written(y), written(x), log_x=True),)


def _row_groups(claim: Links, secret: Secret) -> Int[Tensor, " rows"]:
    return made_for(_rows_and_areas(claim, secret)[0], secret)


def _pair_groups(claim: Links, secret: Secret) -> Int[Tensor, " pairs"]:
    return made_for(claim.first[sharing(claim, secret)], secret)


def _by_chance(value: float, groups: Callable[..., Tensor], claim: Links, secret: Secret) -> Scores:
    """Give the same to every item: half the pairs are in order by chance, and as many found as are false alarms."""
    return torch.full((len(groups(claim, secret)),), value, dtype=torch.float64)


def _tpr_at_fpr(share: float, words: str) -> Metric:
    meaning = f"the share of pairs with a common image that are found at {words} false alarms"
    score: Callable[[Links, Secret], Scores] = partial(tpr_at_fpr, share)
    return Metric(score, _pair_groups, True, "share", meaning, chance=partial(_by_chance, share, _pair_groups))


METRICS = {
    "auc": Metric(
        auc,
        _row_groups,
        True,
        "",
        "area under the ROC curve: a row's pairs with a common image against its others",
        "it tells which rows share an image (AUC {value}, {baseline} by {name})",
        chance=partial(_by_chance, 0.5, _row_groups),
        test=beyond_labels,
    ),
    "tpr@fpr=0.01": _tpr_at_fpr(0.01, "1 %"),
    "tpr@fpr=0.001": _tpr_at_fpr(0.001, "0.1 %"),
}

RULES = ClaimRules(
    claim=Links,
    check=check,
    prepare=as_it_is,
    baselines=baselines,
    metrics=METRICS,
    decisive={"auc": Harm.LINKED},
    curves=curves,
    examples=no_examples,
    states=linked,
    guesses=no_guesses,
)
