"""Which layers a network is a chain of, and what they take in."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


def chain(network: nn.Module) -> list[nn.Module] | None:
    """Give the layers of a network in their order, where it is a chain."""
    parts = list(network.named_children())
    if not parts:
        return [network]
    if not isinstance(network, nn.Sequential) and [name for name, _ in parts] != ["features", "head"]:
        return None
    chains = [chain(part) for _, part in parts]
    return None if any(each is None for each in chains) else [layer for each in chains for layer in each or ()]


def grey_inputs(network: nn.Module, layers: Sequence[nn.Module], shape: tuple[int, int, int]) -> list[Tensor] | None:
    """Give what layers take in of a grey image; None where the last of them does not give what the network does."""
    seen: dict[int, tuple[Tensor, Tensor]] = {}

    def keep(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        seen[id(module)] = inputs[0], output

    training, some = network.training, next(network.parameters())
    handles = [layer.register_forward_hook(keep) for layer in layers]
    try:
        with torch.no_grad():
            logits = network.eval()(torch.zeros(1, *shape, dtype=some.dtype, device=some.device))
    finally:
        network.train(training)
        for handle in handles:
            handle.remove()
    if any(id(layer) not in seen for layer in layers) or seen[id(layers[-1])][1] is not logits:
        return None
    return [seen[id(layer)][0] for layer in layers]
