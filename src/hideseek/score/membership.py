"""How well a score tells members from others: curves, area, and what is caught at few false alarms."""

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from hideseek.errors import BadInput


def roc(
    scores: Float[Tensor, " n"], members: Bool[Tensor, " n"]
) -> tuple[Float[Tensor, " points"], Float[Tensor, " points"]]:
    """Give the false and the true positive rate at every threshold, from (0, 0) to (1, 1); ties move together."""
    if members.all() or not members.any():
        raise BadInput("members and others are both needed to tell them apart.")
    if not scores.isfinite().all():
        raise BadInput("an attack's scores must be finite numbers.")
    order = scores.argsort(descending=True)
    ranked, truth = scores[order], members[order]
    last = torch.cat([ranked[1:] != ranked[:-1], torch.ones(1, dtype=torch.bool)])  # of every run of equal scores
    hits, alarms = truth.cumsum(0)[last].double(), (~truth).cumsum(0)[last].double()
    zero = torch.zeros(1, dtype=torch.float64)
    return torch.cat([zero, alarms / alarms[-1]]), torch.cat([zero, hits / hits[-1]])


def area(scores: Float[Tensor, " n"], members: Bool[Tensor, " n"]) -> float:
    """Give the area under the curve: the chance that a member scores above another, ties counting half.

    >>> area(torch.tensor([0.9, 0.8, 0.1]), torch.tensor([True, False, False]))
    1.0
    """
    false, true = roc(scores, members)
    return float(np.trapezoid(true.numpy(), false.numpy()))


def hit_rate(scores: Float[Tensor, " n"], members: Bool[Tensor, " n"], false_alarms: float) -> float:
    """Give the largest true positive rate at a false positive rate of at most `false_alarms` (1 %, 0.1 %).

    A threshold is a score that was seen: nothing is interpolated. With fewer than 1 / `false_alarms` others, only a
    threshold without any false alarm can qualify.
    """
    false, true = roc(scores, members)
    return float(true[false <= false_alarms + 1e-12].max())
