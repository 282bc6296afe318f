"""LPIPS (Zhang et al. 2018): how different two images look, by what networks see in them."""

import os
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from hideseek.errors import BadInput

Backbone = Literal["alex", "vgg"]

SMALLEST = 64  # pixels on a side: below that, AlexNet hardly sees noise
_MEAN, _STD = (-0.030, -0.088, -0.188), (0.458, 0.448, 0.450)  # of ImageNet, for images in [−1, 1]
# Layers before each tap: (channels, kernel, stride, padding) of a convolution with its ReLU, or a pooling's kernel.
_ALEX: tuple[tuple[tuple[int, ...], ...], ...] = (
    ((64, 11, 4, 2),),
    ((3,), (192, 5, 1, 2)),
    ((3,), (384, 3, 1, 1)),
    ((256, 3, 1, 1),),
    ((256, 3, 1, 1),),
)
_VGG = tuple(
    (*(((2,),) if stage else ()), *((width, 3, 1, 1),) * count)
    for stage, (width, count) in enumerate(((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)))
)


class Lpips(nn.Module):
    """Compare images by the maps of five layers of a network, v0.1.

    d(x, y) = Σ_l mean over places of Σ_c w_lc (x̂_lc − ŷ_lc)², where x̂_l has unit length over its channels (Eq. 1).
    """

    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        self.stages, self.heads = nn.ModuleList(), nn.ParameterList()
        channels = 3
        for layers in _ALEX if backbone == "alex" else _VGG:
            stage: list[nn.Module] = []
            for width, *rest in layers:
                if rest:
                    kernel, stride, padding = rest
                    stage += [nn.Conv2d(channels, width, kernel, stride, padding), nn.ReLU()]
                    channels = width
                else:
                    stage.append(nn.MaxPool2d(width, 2))
            self.stages.append(nn.Sequential(*stage))
            self.heads.append(nn.Parameter(torch.empty(channels)))
        self.eval().requires_grad_(False)

    def forward(self, x: Float[Tensor, "n 3 h w"], y: Float[Tensor, "n 3 h w"]) -> Float[Tensor, " n"]:
        """Give d(x, y) of images in [−1, 1]."""
        mean, std = (torch.tensor(values, device=x.device)[:, None, None] for values in (_MEAN, _STD))
        x, y = (x - mean) / std, (y - mean) / std
        total = torch.zeros(len(x), device=x.device)
        for stage, head in zip(self.stages, self.heads, strict=True):
            x, y = stage(x), stage(y)
            difference = (_unit(x) - _unit(y)).square()
            total = total + (difference * head[:, None, None]).sum(1).mean((1, 2))
        return total


def _unit(maps: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
    return maps / (maps.square().sum(1, keepdim=True).sqrt() + 1e-10)


def load_lpips(backbone: Backbone) -> Lpips:
    """Load the published weights: from the folder that HIDESEEK_DATA names, else from their publishers."""
    network = Lpips(backbone)
    path = Path(os.environ.get("HIDESEEK_DATA", "")).expanduser() / f"lpips_{backbone}.npz"
    weights = _from_file(path) if path.is_file() else _from_publishers(backbone)
    convolutions = [module for module in network.modules() if isinstance(module, nn.Conv2d)]
    try:
        for number, convolution in enumerate(convolutions):
            convolution.weight.copy_(weights[f"conv{number}_w"])
            assert convolution.bias is not None  # noqa: S101 (ours have one)
            convolution.bias.copy_(weights[f"conv{number}_b"])
        for number, head in enumerate(network.heads):
            head.copy_(weights[f"lin{number}"])
    except (KeyError, RuntimeError):
        raise BadInput(f"the LPIPS weights in {path} are not those of {backbone}: get them again.") from None
    return network


def _from_file(path: Path) -> dict[str, Tensor]:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return {name: torch.from_numpy(arrays[name].astype(np.float32)) for name in arrays.files}
    except (OSError, ValueError):
        raise BadInput(f"{path} is damaged: get the LPIPS weights again.") from None


def _from_publishers(backbone: Backbone) -> dict[str, Tensor]:
    """Fetch the convolutions from PyTorch and the heads from the authors of LPIPS, once, by torch.hub."""
    names = {"alex": "alexnet-owt-7be5be79", "vgg": "vgg16-397923af"}
    addresses = (
        f"https://download.pytorch.org/models/{names[backbone]}.pth",
        f"https://github.com/richzhang/PerceptualSimilarity/raw/master/lpips/weights/v0.1/{backbone}.pth",
    )
    try:
        network, heads = (
            torch.hub.load_state_dict_from_url(address, map_location="cpu", weights_only=True, progress=False)
            for address in addresses
        )
    except (OSError, RuntimeError) as error:
        raise BadInput(
            f"the LPIPS weights could not be fetched ({error}): put lpips_{backbone}.npz into the folder that"
            " HIDESEEK_DATA names, or do without LPIPS."
        ) from None
    layers = [name.removesuffix(".weight") for name in network if name.endswith(".weight") and "features" in name]
    found = {f"conv{number}_w": network[f"{layer}.weight"] for number, layer in enumerate(layers)}
    found |= {f"conv{number}_b": network[f"{layer}.bias"] for number, layer in enumerate(layers)}
    return found | {f"lin{number}": heads[f"lin{number}.model.1.weight"].flatten() for number in range(5)}


def enlarged(images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n 3 h2 w2"]:
    """Give images as LPIPS wants them: three channels, at least 64 pixels on the shorter side."""
    images = images.expand(-1, 3, -1, -1) if images.shape[1] == 1 else images
    shorter = min(images.shape[2:])
    if shorter >= SMALLEST:
        return images
    size = [round(side * SMALLEST / shorter) for side in images.shape[2:]]
    return functional.interpolate(images, size, mode="bilinear", align_corners=False)
