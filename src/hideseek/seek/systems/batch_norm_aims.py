"""What an attacker thinks that batch norm saw of a batch: given, derived from running statistics, or of images of his.

Running statistics after a step are r₁ = (1 − m) r₀ + m s, so that s, the statistics of the batch, are
(r₁ − (1 − m) r₀) / m; for several steps with the same m it is their mean, weighted by (1 − m)^(steps after it).
"""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hideseek.records.shared_model import State
from hideseek.train.batch_statistics import Statistics, batch_norms, batch_statistics


def derived(network: nn.Module, before: State, after: State, steps: int, size: int) -> Statistics:
    """Tell the statistics of local batches from running ones before and after.

    Running variances are those of samples, n / (n − 1) times as large; n, values of a channel in a batch, is told from
    the batch alone: places of a map are many, so that the factor matters for one value a channel only.
    """
    found: Statistics = {}
    for name, layer in batch_norms(network).items():
        mean, variance = f"{name}.running_mean", f"{name}.running_var"
        if layer.momentum is None or mean not in after or mean not in before:
            continue
        kept = (1 - layer.momentum) ** steps
        if kept == 1:
            continue
        seen = [(after[each] - kept * before[each]) / (1 - kept) for each in (mean, variance)]
        single = isinstance(layer, nn.BatchNorm1d) and size > 1
        found[name] = seen[0], seen[1].clamp_min(0) * ((size - 1) / size if single else 1.0)
    return found


def proxy(network: nn.Module, images: Float[Tensor, "n c h w"]) -> Statistics:
    """Take the statistics of images of the attacker's own, which are like those of others in the mean."""
    return batch_statistics(network, images)


def misfit(seen: Mapping[str, tuple[Tensor, Tensor]], aims: Statistics) -> Float[Tensor, ""]:
    """Give Σ_layers ‖μ − μ̂‖₂ + ‖σ² − σ̂²‖₂ (Huang et al. 2021, Eq. 3), differentiable."""
    terms = [
        torch.linalg.vector_norm(part - aim)
        for name, pair in aims.items()
        for part, aim in zip(seen[name], pair, strict=True)
    ]
    return torch.stack(terms).sum()
