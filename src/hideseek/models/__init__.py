"""The networks of the papers, and small ones for a processor. A new network is a function and one line here."""

from collections.abc import Callable

from torch import nn

from hideseek.errors import BadInput, no_such
from hideseek.models import absolute, dense, nasnet, plain, resnet, small_resnet
from hideseek.models.classifier import Classifier, Shape
from hideseek.models.unet import UNet

Build = Callable[[Shape, int], nn.Module]

MODELS: dict[str, Build] = {
    "small-resnet": small_resnet.small_resnet,
    "small-resnet-absolute": absolute.small_resnet_absolute,
    "small-resnet-masked": absolute.small_resnet_masked,
    "convnet": plain.convnet,
    "lenet": plain.lenet,
    "tanh-convnet": plain.tanh_convnet,
    "tanh-dense": plain.tanh_dense,
    "resnet18": resnet.resnet18,
    "resnet20": resnet.resnet20,
    "resnet50": resnet.resnet50,
    "resnext50-small": resnet.resnext50_small,
    "resnet18-imagenet": resnet.resnet18_imagenet,
    "resnet50-imagenet": resnet.resnet50_imagenet,
    "resnext50": resnet.resnext50,
    "nasnet": nasnet.nasnet,
    "classifier": dense.dense,
    "relu-dense": dense.relu_dense,
    "linear": dense.linear,
}

# The shortest side that leaves each network a pixel of its own, not of padding alone, after its last stride.
_SHORTEST = {
    "small-resnet": 8,
    "small-resnet-absolute": 8,
    "small-resnet-masked": 8,
    "lenet": 4,
    "tanh-convnet": 16,
    "resnet18": 8,
    "resnet20": 4,
    "resnet50": 8,
    "resnext50-small": 8,
    "resnet18-imagenet": 32,
    "resnet50-imagenet": 32,
    "resnext50": 32,
    "nasnet": 4,
}


def build(name: str, shape: Shape, classes: int) -> nn.Module:
    """Build a network by its name, for images of a shape (channels, height, width) and a number of classes.

    >>> build("lenet", (1, 28, 28), 10).head
    Linear(in_features=588, out_features=10, bias=True)
    """
    if name not in MODELS:
        raise no_such("model", name, MODELS)
    if classes < 2:
        raise BadInput(f"a model tells at least 2 classes apart, not {classes}: use images with labels.")
    if min(shape) < 1:
        raise BadInput(f"a model needs images with channels and pixels, not of the shape {shape}.")
    shortest, (_, height, width) = _SHORTEST.get(name, 1), shape
    if min(height, width) < shortest:
        raise BadInput(
            f"{name} needs images of at least {shortest}×{shortest} pixels, not {height}×{width}: load them larger, or"
            " choose another model (classifier takes any size)."
        )
    return MODELS[name](shape, classes)


__all__ = ["MODELS", "Build", "Classifier", "Shape", "UNet", "build"]
