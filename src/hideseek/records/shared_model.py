"""The model that a server of federated learning sends to its clients."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

State = Mapping[str, Tensor]
"""Tensors by their names, as `state_dict` gives them."""


@dataclass(frozen=True)
class SharedModel:
    """A network and its weights: everybody in the federation has them, and so has the attacker."""

    name: str
    """In MODELS, or as its owner calls it."""
    build: Callable[[], nn.Module] = field(compare=False, repr=False)
    """Makes a network of this architecture, with any weights."""
    state: State = field(compare=False, repr=False)
    """Parameters and buffers."""

    def network(self) -> nn.Module:
        """Build the network with these weights; changing it changes nothing here."""
        network = self.build()
        network.load_state_dict({name: tensor.clone() for name, tensor in self.state.items()})
        return network


@dataclass(frozen=True)
class NetworkSize:
    """What a network takes for one image, and to be sent."""

    multiplications: int
    """Of a forward pass of one image, in convolutions and dense layers."""
    parameters: int
    """Numbers that are trained."""
    batch_norm: bool = False
    """Whether there is batch norm in it."""


def network_size(network: nn.Module, shape: tuple[int, int, int]) -> NetworkSize:
    """Count, by passing an image through, which changes no statistics.

    >>> network_size(nn.Sequential(nn.Flatten(), nn.Linear(12, 5)), (3, 2, 2))
    NetworkSize(multiplications=60, parameters=65, batch_norm=False)
    """
    counted = 0

    def count(layer: nn.Module, _: object, out: Tensor) -> None:
        nonlocal counted
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            counted += out[0].numel() * math.prod(layer.weight.shape[1:])

    handles = [layer.register_forward_hook(count) for layer in network.modules()]
    was_training = network.training
    try:
        with torch.no_grad():
            weight = next(network.parameters())
            network.eval()(torch.zeros(1, *shape, dtype=weight.dtype, device=weight.device))
    finally:
        network.train(was_training)
        for handle in handles:
            handle.remove()
    trained = sum(each.numel() for each in network.parameters() if each.requires_grad)
    return NetworkSize(counted, trained, any(isinstance(each, _BatchNorm) for each in network.modules()))
