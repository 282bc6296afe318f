"""What an attacker thinks that batch norm saw of a batch, and how far a batch of his is from it.

Running statistics move by r ← (1 − m) r + m s, with s the mean of a batch, or n / (n − 1) times its variance, n being
the values of a channel: images times places. So r₁ = (1 − m)^T r₀ + Σ_k m (1 − m)^(T − k) s_k after T steps, and for
one step s is known exactly. For several it is their weighted mean; with m = None all steps weigh the same.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from hideseek.records.shared_model import State
from hideseek.train.batch_statistics import Statistics, batch_norms, batch_statistics

Seen = Mapping[str, tuple[Tensor, Tensor]]
Aim = Literal["norms", "relative"]


def derived(
    network: nn.Module, before: State, after: State, sizes: Sequence[int], shape: tuple[int, ...]
) -> Statistics:
    """Tell the statistics of local batches, of these sizes and in this order, from running ones before and after.

    Means and variances are divided by their weights, so that they are exact for one step, and the weighted mean of the
    steps for several of one size; where the last batch is smaller, variances are taken to be alike in all.
    """
    found: Statistics = {}
    places = places_of(network, shape)
    for name, layer in batch_norms(network).items():
        names = [f"{name}.running_mean", f"{name}.running_var"]
        if name not in places or any(each not in state for each in names for state in (before, after)):
            continue
        kept, weights = step_weights(layer, before.get(f"{name}.num_batches_tracked"), len(sizes))
        if not sum(weights):
            continue
        counts = [size * places[name] for size in sizes]
        samples = [weight * count / max(count - 1, 1) for weight, count in zip(weights, counts, strict=True)]
        mean, variance = (
            ((after[each].double() - kept * before[each].double()) / total).float()
            for each, total in zip(names, (sum(weights), sum(samples)), strict=True)
        )
        found[name] = mean, variance.clamp_min(0)
    return found


def step_weights(layer: _BatchNorm, tracked: Tensor | None, steps: int) -> tuple[float, list[float]]:
    """Give what running statistics after some steps keep of those before, and the weight of every step."""
    if layer.momentum is None:
        first = 0 if tracked is None else int(tracked)
        return first / (first + steps), [1 / (first + steps)] * steps
    moment = float(layer.momentum)
    return (1 - moment) ** steps, [moment * (1 - moment) ** (steps - 1 - step) for step in range(steps)]


def places_of(network: nn.Module, shape: tuple[int, ...]) -> dict[str, int]:
    """Count the values that one image has in a channel of each layer's inputs, by a pass over zeros."""
    found: dict[str, int] = {}

    def see(name: str) -> Callable[[nn.Module, tuple[Tensor, ...]], None]:
        def look(module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
            found[name] = inputs[0][0, 0].numel()

        return look

    handles = [layer.register_forward_pre_hook(see(name)) for name, layer in batch_norms(network).items()]
    training = network.training
    try:
        with torch.no_grad():
            network.eval()(torch.zeros(1, *shape).to(next(network.parameters())))
    finally:
        network.train(training)
        for handle in handles:
            handle.remove()
    return found


def proxy(network: nn.Module, images: Float[Tensor, "n c h w"]) -> Statistics:
    """Take the statistics of images of the attacker's own, which are like those of others in the mean."""
    return batch_statistics(network, images)


def misfit(seen: Seen, aims: Statistics) -> Float[Tensor, ""]:
    """Give Σ_layers ‖μ − μ̂‖₂ + ‖σ² − σ̂²‖₂ (Huang et al. 2021, Eq. 3), differentiable."""
    terms = [
        torch.linalg.vector_norm(part - aim)
        for name, pair in aims.items()
        for part, aim in zip(seen[name], pair, strict=True)
    ]
    return torch.stack(terms).sum()


def relative_misfit(seen: Seen, aims: Statistics, least: float = 1e-5) -> Float[Tensor, ""]:
    """Give the mean over layers of mean ((μ − μ̂)² / σ̂²) + mean (log σ² − log σ̂²)², differentiable.

    All layers count alike, however large their values are, and the slope falls as the aim comes near. Statistics that
    are exact, and those of other images, then take the same weight.
    """
    terms = []
    for name, (mean, variance) in aims.items():
        (here, spread), wanted = seen[name], variance + least
        terms.append(((here - mean).square() / wanted).mean() + ((spread + least) / wanted).log().square().mean())
    return torch.stack(terms).mean()


MISFITS: dict[Aim, Callable[[Seen, Statistics], Tensor]] = {"norms": misfit, "relative": relative_misfit}
