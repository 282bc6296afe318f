"""Linear maps of dense layers and convolutions: of their inputs, of δ behind them, and of both to gradients."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.grad import conv2d_input, conv2d_weight


def correlations(layer: nn.Conv2d, delta: Float[Tensor, "1 o y x"], size: torch.Size) -> Float[Tensor, "ok p"]:
    """Give the matrix that makes ∂L/∂W of one channel of h, which is the same for all of them."""
    height, width = size[1:]
    places = torch.arange(1, height * width + 1, device=delta.device, dtype=delta.dtype).view(1, 1, height, width)
    options = patch_options(layer)
    taken = functional.unfold(places, *options)[0].long()  # offsets × places of δ; 0 is the frame
    found = delta.new_zeros(delta.shape[1], len(taken), height * width + 1)
    for number, some in enumerate(taken):
        found[:, number, some] = delta[0].flatten(1)
    return found[..., 1:].flatten(0, 1)


def input_delta(layer: nn.Linear | nn.Conv2d, delta: Tensor, size: torch.Size) -> Tensor:
    """Give δ at the input of a layer."""
    weight = layer.weight.detach().double()
    if isinstance(layer, nn.Linear):
        return (delta @ weight).view(-1, *size)
    options = (layer.stride, layer.padding, layer.dilation, layer.groups)
    found: Tensor = conv2d_input((len(delta), *size), weight, delta, *options)
    return found


def padding_of(layer: nn.Conv2d) -> tuple[int, ...]:
    """Give the frame of a convolution, where it is given in pixels."""
    return (0, 0) if isinstance(layer.padding, str) else layer.padding


def patch_options(layer: nn.Conv2d) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Give what `fold` and `unfold` want to know of a convolution."""
    return layer.kernel_size, layer.dilation, padding_of(layer), layer.stride


def weight_gradient(layer: nn.Linear | nn.Conv2d, inputs: Tensor, delta: Tensor) -> Tensor:
    """Give ∂L/∂W of a layer."""
    if isinstance(layer, nn.Linear):
        return delta.T @ inputs
    options = (layer.stride, layer.padding, layer.dilation, layer.groups)
    found: Tensor = conv2d_weight(inputs, layer.weight.shape, delta, *options)
    return found
