"""What a layer is known to have taken in of each image of a batch, as an aim of gradient matching."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn


@dataclass(frozen=True)
class KnownInputs:
    """The inputs of one layer: h_i of every image that is certain, each by itself, which tells images of a batch apart.

    The misfit is mean_i ‖h_i − ĥ_i‖ / ‖h(0) − ĥ_i‖, 1 for grey images, over depth³. Lengths, not squares: what is known
    exactly is to be met exactly, however little is missing.
    """

    name: str
    values: Float[Tensor, "k ..."]
    """Of the images that are certain."""
    places: Float[Tensor, " k"]
    """Which these are."""
    scales: Float[Tensor, " k"]
    """One over the distance of a grey image."""
    depth: int = 1
    """How many layers with weights are before it. The more, the less a descent can meet its inputs: the misfit is
    divided by depth³."""

    @classmethod
    def of(
        cls, network: nn.Module, name: str, values: Float[Tensor, "n ..."], certain: Tensor, shape: tuple[int, ...]
    ) -> "KnownInputs | None":
        """Prepare the aim; None where nothing is certain."""
        some = next(network.parameters())
        places = certain.nonzero()[:, 0].to(some.device)
        if not len(places):
            return None
        values = values.to(some)[places]
        whole = cls(name, values, places, some.new_ones(len(places)))
        with torch.no_grad(), whole.watched(network) as seen:
            network(some.new_zeros(len(certain), *shape))
        apart = (seen[0][places] - values).flatten(1).norm(dim=1)
        weighted = [each for each, part in network.named_modules() if isinstance(part, nn.Conv2d | nn.Linear)]
        return cls(name, values, places, 1 / apart.clamp_min(1e-30), max(1, weighted.index(name)))

    @contextmanager
    def watched(self, network: nn.Module) -> Iterator[list[Tensor]]:
        """Give a list that a forward pass puts the layer's input into, for as long as the context is open."""
        seen: list[Tensor] = []

        def look(module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
            seen.append(inputs[0])

        handle = network.get_submodule(self.name).register_forward_pre_hook(look)
        try:
            yield seen
        finally:
            handle.remove()

    def misfit(self, seen: Tensor) -> Float[Tensor, ""]:
        """Give how far inputs are from the known ones, differentiable."""
        apart = (seen[self.places] - self.values).flatten(1)
        found: Tensor = (torch.linalg.vector_norm(apart, dim=1) * self.scales).mean() / float(self.depth**3)
        return found
