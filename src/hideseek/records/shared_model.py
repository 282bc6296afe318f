"""The model that a server of federated learning sends to its clients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from torch import Tensor, nn

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
