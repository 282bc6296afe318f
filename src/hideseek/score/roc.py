"""How well a score tells members from others: the ROC curve, its AUC, and the TPR at a low FPR."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from hideseek.errors import BadInput


def roc(
    scores: Float[Tensor, " n"], members: Bool[Tensor, " n"]
) -> tuple[Float[Tensor, " points"], Float[Tensor, " points"]]:
    """Give the false and the true positive rate at every threshold, from (0, 0) to (1, 1); ties move together."""
    from sklearn.metrics import roc_curve

    _check(scores, members)
    false, true, _ = roc_curve(members.cpu().numpy(), scores.cpu().numpy(), drop_intermediate=False)
    return torch.from_numpy(false), torch.from_numpy(true)


def auc(scores: Float[Tensor, " n"], members: Bool[Tensor, " n"]) -> float:
    """Give the area under the ROC curve: the chance that a member scores above another, ties counting half.

    >>> auc(torch.tensor([0.9, 0.8, 0.1]), torch.tensor([True, False, False]))
    1.0
    """
    from sklearn.metrics import roc_auc_score

    _check(scores, members)
    return float(roc_auc_score(members.cpu().numpy(), scores.cpu().numpy()))


def tpr_at_fpr(scores: Float[Tensor, " n"], members: Bool[Tensor, " n"], fpr: float) -> float:
    """Give the largest true positive rate at a false positive rate of at most `fpr` (1 %, 0.1 %).

    A threshold is a score that was seen: nothing is interpolated. With fewer than 1 / `fpr` others, only a threshold
    without any false alarm can qualify.
    """
    false, true = roc(scores, members)
    return float(true[false <= fpr + 1e-12].max())


def _check(scores: Float[Tensor, " n"], members: Bool[Tensor, " n"]) -> None:
    if members.all() or not members.any():
        raise BadInput("members and others are both needed to tell them apart.")
    if not scores.isfinite().all():
        raise BadInput("an attack's scores must be finite numbers.")
