"""How well rows that share a private image were told from others.

An area has no items of its own, and a rate at few false alarms needs all pairs. So `area` is that of each row's pairs,
one score a row; and `caught` is one score a pair that shares: whether it is above the threshold of all pairs. The mean
of either is what one wants, and intervals come from drawing rows.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from hideseek.errors import BadInput
from hideseek.records import Links
from hideseek.records.mixing_secret import MixingSecret
from hideseek.score.ground_truth import blocks
from hideseek.score.metric import Metric, Scores


def sharing(claim: Links, secret: MixingSecret) -> Bool[Tensor, " pairs"]:
    """Tell which pairs of rows share a private image."""
    sources = secret.sources
    found = torch.empty(len(claim.first), dtype=torch.bool)
    for pairs in blocks(len(found), sources.shape[1] ** 2):
        first, second = (sources[rows[pairs].long()] for rows in (claim.first, claim.second))
        found[pairs] = (first[:, :, None] == second[:, None, :]).flatten(1).any(1)
    return found


def area(claim: Links, secret: MixingSecret) -> Scores:
    """Give, for every `first` row with pairs of both kinds, the chance that a sharing pair scores above another."""
    return _areas(claim.first.long(), claim.scores.double(), sharing(claim, secret))[1]


def _areas(
    first: Int[Tensor, " pairs"], scores: Float[Tensor, " pairs"], shares: Bool[Tensor, " pairs"]
) -> tuple[Int[Tensor, " rows"], Scores]:
    """Give the rows, and their areas by Mann and Whitney: (R − p (p + 1) / 2) / (p q), R the ranks of p against q."""
    order = torch.from_numpy(np.lexsort((scores.numpy(), first.numpy())))
    first, scores, shares = first[order], scores[order], shares[order]
    rows, row, count = first.unique_consecutive(return_inverse=True, return_counts=True)
    new = torch.ones(len(first), dtype=torch.bool)
    new[1:] = (first[1:] != first[:-1]) | (scores[1:] != scores[:-1])
    run = new.cumsum(0) - 1  # pairs of one row with equal scores
    start, length = new.nonzero().flatten(), run.bincount()
    begin = count.cumsum(0) - count  # of each row
    ranks = start[run] - begin[row] + (length[run] + 1) / 2
    members = torch.zeros(len(rows), dtype=torch.float64).index_add_(0, row, shares.double())
    total = torch.zeros(len(rows), dtype=torch.float64).index_add_(0, row, ranks.double() * shares)
    both = (members > 0) & (members < count)
    if not both.any():
        raise BadInput("no row has pairs of both kinds, with a shared private image and without.")
    p, q = members[both], (count - members)[both]
    return rows[both], (total[both] - p * (p + 1) / 2) / (p * q)


def caught(false_alarms: float, claim: Links, secret: MixingSecret) -> Scores:
    """Tell which sharing pairs score above the threshold that lets at most this share of other pairs pass."""
    shares = sharing(claim, secret)
    if shares.all() or not shares.any():
        raise BadInput("pairs of both kinds are needed, with a shared private image and without.")
    others = claim.scores[~shares].sort(descending=True).values
    return (claim.scores[shares] > others[int(false_alarms * len(others) + 1e-9)]).double()


def _row_groups(claim: Links, secret: MixingSecret) -> Int[Tensor, " rows"]:
    rows, _ = _areas(claim.first.long(), claim.scores.double(), sharing(claim, secret))
    return secret.sources[rows, 0]


def _pair_groups(claim: Links, secret: MixingSecret) -> Int[Tensor, " pairs"]:
    return secret.sources[claim.first[sharing(claim, secret)].long(), 0]


def _caught(share: float, words: str) -> Metric:
    meaning = f"the share of pairs with a common image that are found at {words} false alarms"
    score: Callable[[Links, MixingSecret], Scores] = partial(caught, share)
    return Metric(Links, score, _pair_groups, True, "share", meaning, chance=partial(_by_chance, share, _pair_groups))


def _by_chance(value: float, groups: Callable[..., Tensor], claim: Links, secret: MixingSecret) -> Scores:
    """Give the same to every item: half the pairs are in order by chance, and as many caught as are false alarms."""
    return torch.full((len(groups(claim, secret)),), value, dtype=torch.float64)


_AREA = "under the curve: a row's pairs with a common image against its others"

METRICS = {
    "auc": Metric(Links, area, _row_groups, True, "", _AREA, chance=partial(_by_chance, 0.5, _row_groups)),
    "tpr@fpr=0.01": _caught(0.01, "1 %"),
    "tpr@fpr=0.001": _caught(0.001, "0.1 %"),
}
