"""What layers took in, from the end of a network on, by linear systems (Zhu and Blaschko 2021, R-GAP).

In a chain of layers, a batch has ∂L/∂W = Σ_i δ_i h_i' for a dense layer and a sum of correlations of δ_i with h_i for
a convolution: linear in the layer's inputs h as soon as δ, the derivative by its outputs, is known. The head tells the
first δ (`head_features`); each h then tells the δ before it, and, where the activation can be undone, what the layer
before it gave, which is linear in that layer's input again. So one least-squares problem a layer leads to the images,
or as near to them as equations suffice. The choices of a max-pooling are found with them (`pooled_inputs`).
Deviation: R-GAP has one image.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from hideseek.seek.systems.convolution_inputs import Known, Solved, convolution_input, dense_input
from hideseek.seek.systems.convolution_maps import input_delta, weight_gradient
from hideseek.seek.systems.head_features import head_features
from hideseek.seek.systems.layer_chain import chain, grey_inputs
from hideseek.seek.systems.pooled_inputs import pooled_input

EDGE = 1e-9  # how near to their ends sigmoids can be undone
NOTHING = 1e-6  # of the largest value: what a ReLU lets through is more
FITS = 1e-2  # of a gradient: what an input may miss of it


@dataclass(frozen=True)
class Peeled:
    """What was found, in double precision."""

    inputs: dict[str, Tensor]
    """What layers took in of each image, by their names, from the end on."""
    certain: Bool[Tensor, " n"]
    """Of which images that of the last layer found is certain; of the others before it, all are."""
    images: Float[Tensor, "n c h w"] | None = None
    """Where the first layer was reached."""


def peeled(
    network: nn.Module, update: Mapping[str, Tensor], shape: tuple[int, int, int],
    labels: Float[Tensor, "n classes"], steps: int = 1200,
) -> Peeled:  # fmt: skip
    """Solve for the inputs of layers as far as a network is a chain that can be undone; of others, of the head alone.

    Labels matter for two images and more. `steps` are of conjugate gradients, for each layer that needs them.
    """
    names = {id(module): name for name, module in network.named_modules()}
    layers = chain(network) or list(network.children())[-1:]
    head = layers[-1] if layers else network
    if not isinstance(head, nn.Linear) or head.bias is None or (seen := grey_inputs(network, layers, shape)) is None:
        return Peeled({}, torch.zeros(len(labels), dtype=torch.bool))
    inputs: dict[str, Tensor] = {}
    some, certain = next(network.parameters()), torch.ones(len(labels), dtype=torch.bool)
    if (delta := _last_delta(head, names[id(head)], update, labels.to(some.device))) is None:
        return Peeled({}, certain)
    known, left = Known(delta), list(zip(layers, seen, strict=True))
    while left:
        layer, grey = left.pop()
        pooled = _pooled(layer, left)
        weighted = layer if pooled is None else pooled
        if not isinstance(weighted, nn.Linear | nn.Conv2d):
            if (before := undone(layer, known, grey.shape[1:])) is None:
                return Peeled(inputs, certain)
            known = before
            continue
        if pooled is not None:
            left.pop()
            _, grey = left.pop()
        name = names[id(weighted)]
        if (gradient := update.get(f"{name}.weight")) is None:
            return Peeled(inputs, certain)
        with torch.no_grad():
            found = _input(layer, pooled, gradient.to(some.device).double(), known, grey.double(), steps)
        if found is None:
            return Peeled(inputs, certain)
        (solved, delta) = found
        inputs[name], certain = solved.values, solved.certain
        if not bool(certain.all()):
            return Peeled(inputs, certain)
        known = Known(input_delta(weighted, delta, grey.shape[1:]), solved.values)
    reached = known.values is not None and known.values.shape[1:] == shape
    return Peeled(inputs, certain, known.values if reached else None)


def _pooled(layer: nn.Module, before: list[tuple[nn.Module, Tensor]]) -> nn.Conv2d | None:
    """Give the convolution before a max-pooling of windows side by side, and a ReLU."""
    if not isinstance(layer, nn.MaxPool2d) or len(before) < 2 or not isinstance(before[-1][0], nn.ReLU):
        return None
    plain = layer.kernel_size == layer.stride and not layer.padding and layer.dilation == 1
    found = before[-2][0]
    return found if plain and isinstance(found, nn.Conv2d) else None


def _last_delta(head: nn.Linear, name: str, update: Mapping[str, Tensor], labels: Tensor) -> Tensor | None:
    """Give the derivative of the loss by every image's logits."""
    by_weight, by_bias = (update[f"{name}.{part}"].to(labels.device).double() for part in ("weight", "bias"))
    if len(labels) == 1:
        return by_bias[None]
    found = head_features(head.weight, head.bias, by_weight, by_bias, labels)
    return None if found is None else found.errors / len(labels)


def undone(layer: nn.Module, known: Known, size: torch.Size) -> Known | None:
    """Give what is known before a layer without weights, from what is known after it; None where nothing is."""
    after = known.values
    if after is None:
        return None
    if isinstance(layer, nn.Flatten):
        return Known(known.delta.view(-1, *size), after.view(-1, *size))
    if isinstance(layer, nn.Sigmoid):
        inside = after.clamp(EDGE, 1 - EDGE)
        slope = inside * (1 - inside)  # an error of what is after it is 1 / slope times as large before it
        return Known(known.delta * slope, inside.logit(), 4 * slope * (inside == after))
    if isinstance(layer, nn.Tanh):
        inside = after.clamp(EDGE - 1, 1 - EDGE)
        slope = 1 - inside.square()
        return Known(known.delta * slope, inside.atanh(), slope * (inside == after))
    if isinstance(layer, nn.ReLU):
        on = (after > NOTHING * after.abs().max()).double()
        return Known(known.delta * on, after, on)
    return None


def _input(
    layer: nn.Module, pooled: nn.Conv2d | None, gradient: Tensor, known: Known, grey: Tensor, steps: int
) -> tuple[Solved, Tensor] | None:
    """Solve for the inputs of a layer, and keep them where they have the gradient that was shared; with δ behind it."""
    size = grey.shape[1:]
    if pooled is not None and isinstance(layer, nn.MaxPool2d):
        return pooled_input(pooled, layer, gradient, known, grey)
    if isinstance(layer, nn.Conv2d):
        found = convolution_input(layer, gradient, known, size, steps)
    elif isinstance(layer, nn.Linear):
        found = dense_input(gradient, known.delta)
    else:
        return None
    if found is None or not bool(found.values.isfinite().all()):
        return None
    again = weight_gradient(layer, found.values, known.delta)
    return (found, known.delta) if float((again - gradient).norm()) <= FITS * float(gradient.norm()) else None
