"""The image of a gradient, layer by layer from the end, by linear systems (Zhu and Blaschko 2021, R-GAP).

In a chain of layers, a batch of one image has ∂L/∂W = δ hᵀ for a dense layer and a correlation of δ with h for a
convolution: linear in the layer's input h as soon as δ, the derivative by its output, is known. The last layer's bias
tells the first δ; each h then tells the δ before it, and, where the activation can be undone, what the layer before it
gave, which is linear in that layer's input again. So one least-squares problem a layer leads to the image.
"""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hideseek.seek.systems.convolution_inputs import Known, convolution_input, input_delta

EDGE = 1e-9  # how near to their ends sigmoids can be undone
NOTHING = 1e-6  # of the largest value: what a ReLU lets through is more


def peeled(
    network: nn.Module, update: Mapping[str, Tensor], shape: tuple[int, int, int], steps: int = 1200
) -> Float[Tensor, "1 c h w"] | None:
    """Give the image of a batch of one, in double precision; None where the network is no chain that can be undone."""
    layers = chain(network)
    names = {id(module): name for name, module in network.named_modules()}
    if layers is None or not isinstance(layers[-1], nn.Linear) or layers[-1].bias is None:
        return None
    with torch.no_grad():
        some = next(network.parameters())
        sizes, flow = [], torch.zeros(1, *shape, dtype=some.dtype, device=some.device)
        for layer in layers:
            if not isinstance(layer, nn.Linear | nn.Conv2d | nn.Flatten | nn.Sigmoid | nn.Tanh | nn.ReLU):
                return None
            sizes.append(flow.shape[1:])
            flow = layer(flow)
        known = Known(update[f"{names[id(layers[-1])]}.bias"].to(some.device).double())
        for layer, size in zip(reversed(layers), reversed(sizes), strict=True):
            gradient = update.get(f"{names[id(layer)]}.weight")
            before = _before(layer, None if gradient is None else gradient.to(some.device).double(), known, size, steps)
            if before is None or before.values is None or not bool(before.values.isfinite().all()):
                return None
            known = before
        return None if known.values is None else known.values.view(1, *shape)


def chain(network: nn.Module) -> list[nn.Module] | None:
    """Give the layers of a network in their order, where it is a chain."""
    parts = list(network.named_children())
    if not parts:
        return [network]
    if not isinstance(network, nn.Sequential) and [name for name, _ in parts] != ["features", "head"]:
        return None
    chains = [chain(part) for _, part in parts]
    return None if any(each is None for each in chains) else [layer for each in chains for layer in each or ()]


def _before(layer: nn.Module, gradient: Tensor | None, known: Known, size: torch.Size, steps: int) -> Known | None:
    """Give what is known before a layer, from what is known after it."""
    if isinstance(layer, nn.Linear | nn.Conv2d):
        if gradient is None:
            return None
        found = _input(layer, gradient, known, size, steps)
        return None if found is None else Known(input_delta(layer, known.delta, size), found)
    after = known.values
    if after is None:
        return None
    if isinstance(layer, nn.Flatten):
        return Known(known.delta.view(size), after.view(size))
    if isinstance(layer, nn.Sigmoid):
        inside = after.clamp(EDGE, 1 - EDGE)
        slope = inside * (1 - inside)  # an error of what is after it is 1 / slope times as large before it
        return Known(known.delta * slope, inside.logit(), 4 * slope * (inside == after))
    if isinstance(layer, nn.Tanh):
        inside = after.clamp(EDGE - 1, 1 - EDGE)
        slope = 1 - inside.square()
        return Known(known.delta * slope, inside.atanh(), slope * (inside == after))
    on = (after > NOTHING * after.abs().max()).double()  # a ReLU
    return Known(known.delta * on, after, on)


def _input(layer: nn.Linear | nn.Conv2d, gradient: Tensor, known: Known, size: torch.Size, steps: int) -> Tensor | None:
    """Solve for the input of a layer; of a dense one, ∂L/∂W = δ hᵀ."""
    if isinstance(layer, nn.Conv2d):
        return convolution_input(layer, gradient, known, size, steps)
    strength = known.delta.square().sum()
    return (known.delta.flatten() @ gradient / strength).view(size) if float(strength) > 0 else None
