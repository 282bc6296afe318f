"""The input of a convolution, from its gradient and from what is known of its output: both are linear in it."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.grad import conv2d_input, conv2d_weight

PRECISE = 1e-26  # of the first residual's square: doubles tell no more


@dataclass(frozen=True)
class Known:
    """What is known at the output of a layer: δ, and values, with how precisely they are known."""

    delta: Tensor
    values: Tensor | None = None
    precision: Tensor | None = None
    """One over the error of each value, but for a factor; 0 where nothing is known."""


def convolution_input(layer: nn.Conv2d, gradient: Tensor, known: Known, size: torch.Size, steps: int) -> Tensor | None:
    """Solve, for h, ∂L/∂W_ock = Σ_p δ_op h_c,p+k and z = W ∗ h + b by least squares, both scaled alike.

    None where there are fewer equations than unknowns. Each step of conjugate gradients is four convolutions.
    """
    if isinstance(layer.padding, str) or layer.padding_mode != "zeros":
        return None
    weight, delta = layer.weight.detach().double(), known.delta[None]
    shape, options = (1, *size), (layer.stride, layer.padding, layer.dilation, layer.groups)
    weights = None if known.values is None or known.precision is None else known.precision[None].square()
    if gradient.numel() + (0 if weights is None else int((weights > 0).sum())) < size.numel():
        return None
    scale = float(weight.square().sum() / delta.square().sum().clamp_min(1e-300))

    def back(errors: Tensor, outputs: Tensor) -> Tensor:
        # The adjoint of the gradient by the weights has the errors in the place of the weights.
        total: Tensor = scale * conv2d_input(shape, errors, delta, *options)
        if weights is not None:
            total = total + conv2d_input(shape, weight, outputs * weights, *options)
        return total.flatten()

    def normal(some: Tensor) -> Tensor:
        image = some.view(shape)
        by_weights = conv2d_weight(image, gradient.shape, delta, *options)
        return back(by_weights, functional.conv2d(image, weight, None, *options))

    bias = 0.0 if layer.bias is None else layer.bias.detach().double()[:, None, None]
    values = torch.zeros_like(known.delta) if known.values is None else known.values - bias
    return _solved(normal, back(gradient, values[None]), steps).view(size)


def input_delta(layer: nn.Linear | nn.Conv2d, delta: Tensor, size: torch.Size) -> Tensor:
    """Give δ at the input of a layer."""
    weight = layer.weight.detach().double()
    if isinstance(layer, nn.Linear):
        return (delta.flatten() @ weight).view(size)
    options = (layer.stride, layer.padding, layer.dilation, layer.groups)
    found: Tensor = conv2d_input((1, *size), weight, delta[None], *options)
    return found[0]


def _solved(normal: Callable[[Tensor], Tensor], right: Tensor, steps: int) -> Tensor:
    """Solve the normal equations by steps of conjugate gradients."""
    found, rest = torch.zeros_like(right), right.clone()
    direction, energy = rest.clone(), float(rest @ rest)
    first = energy
    for _ in range(steps):
        if energy <= PRECISE * first:
            break
        image = normal(direction)
        step = energy / max(float(direction @ image), 1e-300)
        found.add_(direction, alpha=step)
        rest.add_(image, alpha=-step)
        energy, before = float(rest @ rest), energy
        direction.mul_(energy / before).add_(rest)
    return found
