"""The first dense layer of a network, where images reach it as they are."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from hideseek.chance import seeded
from hideseek.records.shared_model import SharedModel
from hideseek.records.update_encoder import Mode
from hideseek.train.gradients import explained

NEAR = 1e-4  # how exactly an input must be its pixel


@dataclass(frozen=True)
class FirstDense:
    """A dense layer whose inputs are pixels, each times a scale plus a shift, in some order, or constants."""

    name: str
    place: Int[Tensor, " pixels"]
    """The input that each pixel is."""
    scale: Float[Tensor, " pixels"]
    shift: Float[Tensor, " pixels"]

    def images(self, inputs: Float[Tensor, "n inputs"], shape: tuple[int, int, int]) -> Float[Tensor, "n c h w"]:
        """Give the images of some inputs."""
        return ((inputs[:, self.place] - self.shift) / self.scale).view(-1, *shape).float()

    def inputs(self, images: Float[Tensor, "n c h w"], count: int) -> Float[Tensor, "n inputs"]:
        """Give the inputs of some images, of which there are `count` with that of the bias; constants are left 0."""
        found = torch.zeros(len(images), count, dtype=torch.float64)
        found[:, self.place] = images.flatten(1).double() * self.scale + self.shift
        found[:, -1] = 1
        return found

    def matrix(self, tensors: Mapping[str, Tensor]) -> Float[Tensor, "neurons inputs"]:
        """Give [W | b] of this layer, of a model or of its gradient."""
        return torch.cat([tensors[f"{self.name}.weight"], tensors[f"{self.name}.bias"][:, None]], 1)


def first_dense(model: SharedModel, shape: tuple[int, int, int], mode: Mode) -> FirstDense | str:
    """Find the layer, or say what comes first instead.

    The network is run on images that tell pixels apart: zeros, ones, and two of random values, of which the second
    confirms what the first showed. Nothing is assumed about the network but that it can be run.
    """
    network = model.network().train(mode == "train")
    seen: list[tuple[str, nn.Module, Tensor]] = []
    handles = [
        layer.register_forward_pre_hook(_keeper(name, seen))
        for name, layer in network.named_modules()
        if any(True for _ in layer.parameters(recurse=False))
    ]
    random = seeded(15).normals(2, *shape)
    try:
        with torch.no_grad(), explained():
            for probes in (torch.stack([torch.zeros(shape), torch.ones(shape), random[0]]), random[[1, 1]]):
                network(probes)
    finally:
        for handle in handles:
            handle.remove()
    if not seen:
        return "no layer with weights"
    name, layer, first = seen[0]
    again = [inputs for other, _, inputs in seen[1:] if other == name]
    if not isinstance(layer, nn.Linear) or first.ndim != 2:
        return f"the layer {name} ({type(layer).__name__})"
    if layer.bias is None:
        return f"the dense layer {name} without a bias"
    if not (layer.weight.requires_grad and layer.bias.requires_grad):
        return f"the dense layer {name}, which is not trained"
    shift, scale = first[0], first[1] - first[0]
    moves = (scale.abs() > 1e-12).nonzero()[:, 0]
    pixels = random.flatten(1)
    if len(moves) < pixels.shape[1]:
        return f"a layer that drops pixels, before {name}"
    value, order = pixels[0].sort()
    wanted = (first[2] - shift)[moves] / scale[moves]
    nearest = torch.searchsorted(value, wanted.contiguous()).clamp(1, len(value) - 1)
    nearest = nearest - (wanted - value[nearest - 1] < value[nearest] - wanted).long()
    pixel_of = order[nearest]
    place = torch.full((pixels.shape[1],), -1).index_put((pixel_of,), moves)
    if bool((place < 0).any()) or not again:
        return f"a layer that mixes pixels, before {name}"
    expected = pixels[1] * scale[place] + shift[place]
    if float((again[0][0][place] - expected).abs().max()) > NEAR * float(expected.abs().max()):
        return f"a layer that changes images, before {name}"
    return FirstDense(name, place, scale[place].double(), shift[place].double())


def _keeper(name: str, seen: list[tuple[str, nn.Module, Tensor]]) -> Callable[[nn.Module, tuple[Tensor, ...]], None]:
    def keep(module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        seen.append((name, module, inputs[0].detach()))

    return keep
