"""Labels where the last layer has no bias, from the sizes of its gradient."""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn


def counted_labels(network: nn.Module, update: Mapping[str, Tensor], size: int, classes: int) -> Float[Tensor, "n c"]:
    """Tell the labels of a batch, one-hot and sorted.

    ∂L/∂b_c = mean_i (p_ic − y_ic): a class that is there pulls down its entry by its share, and p is about 1 / classes
    for a model that knows little. One image: the least entry (iDLG, Zhao et al. 2020). More: one label at a time to the
    least entry, which then rises by 1 / n (as counts from sizes, Geng et al. 2021).
    Deviation: where the last layer has no bias, the row sums of its weight's gradient stand for it: features behind
    ReLUs or sigmoids are not negative.
    """
    errors = last_errors(network, update, classes)
    scale = errors.abs().sum().clamp_min(1e-30)
    if size == 1:
        counts = [int(errors.argmin())]
    else:
        # Entries sum to zero, and those of classes that are there lack n_c / n: what is missing tells n_c.
        left = errors * (1.0 if float(scale) <= 2 + 1e-3 else 2 / scale)
        counts = []
        for _ in range(size):
            chosen = int(left.argmin())
            counts.append(chosen)
            left[chosen] += 1 / size
    return torch.eye(classes)[torch.tensor(sorted(counts))]


def last_errors(network: nn.Module, update: Mapping[str, Tensor], classes: int) -> Float[Tensor, " classes"]:
    """Give the mean of p − y of a batch, or what is like it, as the last dense layer's gradient has it."""
    last = [name for name, each in network.named_modules() if isinstance(each, nn.Linear)]
    name = last[-1] if last else ""
    bias, weight = update.get(f"{name}.bias"), update.get(f"{name}.weight")
    if bias is not None and len(bias) == classes:
        return bias.detach().cpu().float().clone()
    if weight is not None and len(weight) == classes:
        return weight.detach().cpu().float().sum(1)
    return torch.zeros(classes)
