"""Which guess belongs to which image, and how high the right one ranks."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.errors import BadInput


def one_to_one(likeness: Float[Tensor, "guesses truths"]) -> Int[Tensor, " guesses"]:
    """Give every guess the ground truth that makes the sum of likenesses largest, each once; −1 where none is left.

    The Hungarian method: an attacker's batch has no order, and a guess must not be counted for two images.

    >>> one_to_one(torch.tensor([[0.9, 0.8], [0.7, 0.1]])).tolist()
    [1, 0]
    """
    from scipy.optimize import linear_sum_assignment

    if not likeness.isfinite().all():
        raise BadInput("likenesses must be finite to be matched.")
    rows, columns = linear_sum_assignment(likeness.double().numpy(), maximize=True)
    chosen = torch.full((len(likeness),), -1, dtype=torch.int64)
    chosen[torch.from_numpy(rows)] = torch.from_numpy(columns)
    return chosen


def ranks(likeness: Float[Tensor, "n candidates"], truth: Int[Tensor, " n"]) -> Float[Tensor, " n"]:
    """Give the rank of the true candidate for each guess, 1 the most alike; ties count half.

    An image is re-identified among N candidates if its rank is 1; by chance that happens once in N times.

    >>> ranks(torch.tensor([[0.2, 0.9, 0.5]]), torch.tensor([2])).tolist()
    [2.0]
    """
    own = likeness.gather(1, truth[:, None])
    above, equal = (likeness > own).sum(1), (likeness == own).sum(1) - 1
    return 1 + above + equal / 2
