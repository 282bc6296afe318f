"""The input of a convolution, from its gradient and from what is known of its output: both are linear in it."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.grad import conv2d_input, conv2d_weight

from hideseek.seek.systems.convolution_maps import correlations, patch_options

PRECISE = 1e-26  # of the first residual's square: doubles tell no more
AIMED = 1e-18  # likewise for batches, whose inputs are aims of matching and lead no further
PRECISION = 1e-7  # of a gradient, in single precision
CERTAIN = 1e-2  # of what inputs differ by: what may be wrong about one


@dataclass(frozen=True)
class Known:
    """What is known at the output of a layer: δ, and values, with how precisely they are known."""

    delta: Tensor
    values: Tensor | None = None
    precision: Tensor | None = None
    """One over the error of each value, but for a factor; 0 where nothing is known."""


@dataclass(frozen=True)
class Solved:
    """The inputs of a layer for every image, and which of them are certain."""

    values: Tensor
    certain: Bool[Tensor, " n"]


def convolution_input(layer: nn.Conv2d, gradient: Tensor, known: Known, size: torch.Size, steps: int) -> Solved | None:
    """Solve, for h, ∂L/∂W_ock = Σ_ip δ_iop h_ic,p+k and z = W ∗ h + b by least squares, both scaled alike.

    None where there are fewer equations than unknowns. Each step of conjugate gradients is four convolutions. Where δ
    has at most as many places as channels, in all images, each patch of h follows from the gradient alone.
    """
    if isinstance(layer.padding, str) or layer.padding_mode != "zeros":
        return None
    weight, delta = layer.weight.detach().double(), known.delta
    if len(delta) * delta[0, 0].numel() <= delta.shape[1] and layer.groups == 1:
        return _patches(layer, gradient, delta, size)
    if len(delta) == 1 and layer.groups == 1 and delta.shape[1] * layer.weight[0, 0].numel() >= 2 * size[1:].numel():
        return _channels(layer, gradient, delta, size)
    shape, options = (len(delta), *size), (layer.stride, layer.padding, layer.dilation, layer.groups)
    weights = None if known.values is None or known.precision is None else known.precision.square()
    if gradient.numel() + (0 if weights is None else int((weights > 0).sum())) < len(delta) * size.numel():
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
    found = _solved(normal, back(gradient, values), steps, PRECISE if len(delta) == 1 else AIMED).view(shape)
    return Solved(found, found.flatten(1).isfinite().all(1))


def _patches(layer: nn.Conv2d, gradient: Tensor, delta: Tensor, size: torch.Size) -> Solved | None:
    """Solve ∂L/∂W = Δ U, Δ of channels × places of all images, for U, the patches of h; where they overlap, average."""
    found = dense_input(gradient.flatten(1), delta.flatten(2).transpose(1, 2).flatten(0, 1))
    options = patch_options(layer)
    patches = found.values.view(len(delta), -1, found.values.shape[1]).transpose(1, 2)
    times = functional.fold(torch.ones_like(patches[:1]), size[1:], *options)
    if float(times.min()) == 0:
        return None
    values = functional.fold(patches, size[1:], *options) / times
    return Solved(values, found.certain.view(len(delta), -1).all(1))


def _channels(layer: nn.Conv2d, gradient: Tensor, delta: Tensor, size: torch.Size) -> Solved | None:
    """Solve for each channel of h by itself, where gradients alone tell it."""
    found = dense_input(gradient.flatten(2).transpose(1, 2).flatten(0, 1), correlations(layer, delta, size).T)
    values = found.values.T.reshape(1, *size)
    return Solved(values, values.flatten(1).isfinite().all(1))


def dense_input(gradient: Float[Tensor, "o f"], delta: Float[Tensor, "n o"]) -> Solved:
    """Solve ∂L/∂W = Σ_i δ_i h_i' for the h of all images.

    Row i of the inverse of Δ says how much an error of the gradient counts in h_i: an image whose δ is nearly that of
    another is not certain.
    """
    inverse = torch.linalg.pinv(delta.T)
    found = inverse @ gradient
    apart = found - found.mean(0) if len(found) > 1 else found
    errors = PRECISION * inverse.norm(dim=1) * gradient.norm()
    return Solved(found, errors <= CERTAIN * apart.norm() / len(found) ** 0.5)


def _solved(normal: Callable[[Tensor], Tensor], right: Tensor, steps: int, precise: float) -> Tensor:
    """Solve the normal equations by steps of conjugate gradients."""
    found, rest = torch.zeros_like(right), right.clone()
    direction, energy = rest.clone(), float(rest @ rest)
    first = energy
    for _ in range(steps):
        if energy <= precise * first:
            break
        image = normal(direction)
        step = energy / max(float(direction @ image), 1e-300)
        found.add_(direction, alpha=step)
        rest.add_(image, alpha=-step)
        energy, before = float(rest @ rest), energy
        direction.mul_(energy / before).add_(rest)
    return found
