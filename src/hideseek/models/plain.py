"""Small networks without BatchNorm: for gradient inversion, whose first attacks were shown on them, and for DP-SGD."""

import math

import torch
from torch import nn

from hideseek.models.classifier import Classifier, Shape

_DRAWN_FOR = 32  # pixels on a side: below that, the convolutions of `convnet` leave nothing


def convnet(shape: Shape, classes: int) -> Classifier:
    """Build the 6-layer ConvNet without BatchNorm of "Evaluating gradient inversion attacks" (Huang et al. 2021, A.3).

    Six 3×3 convolutions without padding, of 32, 32, 64, 64, 128 and 128 channels, each with a ReLU, and 2×2
    max-pooling after the second and fourth; then dense layers of 1024 units and of the classes.
    Deviation: the paper says no more than "6-layer" and "no BatchNorm". The widths are those of the one network of
    that description in the code that its authors published; it takes 32×32 pixels, to which they enlarge MNIST. Here
    smaller images get a frame of zeros instead, which leaves every digit as it is.
    """
    channels, *sides = shape
    height, width = (max(0, _DRAWN_FOR - side) for side in sides)
    layers: list[nn.Module] = []
    if height or width:
        layers.append(nn.ZeroPad2d((width // 2, width - width // 2, height // 2, height - height // 2)))
    for outputs in (32, 64, 128):
        layers += [nn.Conv2d(channels, outputs, 3), nn.ReLU(), nn.Conv2d(outputs, outputs, 3), nn.ReLU()]
        layers += [nn.MaxPool2d(2)] if outputs < 128 else [nn.Flatten()]
        channels = outputs
    maps = nn.Sequential(*layers)
    features = nn.Sequential(maps, nn.Linear(_width(maps, shape), 1024), nn.ReLU())
    return Classifier(features, nn.Linear(1024, classes))


def lenet(shape: Shape, classes: int) -> Classifier:
    """Build the LeNet of DLG (Zhu et al. 2019): smooth, so that gradients of gradients say something.

    Three 5×5 convolutions of 12 channels with padding 2 and strides 2, 2 and 1, each with a sigmoid, and a dense
    layer: 768 features of a 32×32 image. All weights and biases are drawn from U(−½, ½).
    Deviation: the paper says that sigmoids replace ReLUs and that strides are removed, and no more; these strides,
    widths and weights are those of the code that its authors published.
    """
    channels = shape[0]
    layers: list[nn.Module] = []
    for stride in (2, 2, 1):
        layers += [nn.Conv2d(channels, 12, 5, stride, padding=2), nn.Sigmoid()]
        channels = 12
    features = nn.Sequential(*layers, nn.Flatten())
    network = Classifier(features, nn.Linear(_width(features, shape), classes))
    for parameter in network.parameters():
        nn.init.uniform_(parameter, -0.5, 0.5)
    return network


def tanh_convnet(shape: Shape, classes: int) -> Classifier:
    """Build a small network for DP-SGD, with tanh: bounded activations lose less to clipping (Papernot et al. 2021).

    Convolutions of 16 (8×8, stride 2) and 32 (4×4, stride 2) channels, each with 2×2 max-pooling of stride 1, and
    dense layers of 32 units and of the classes: 26,010 parameters on MNIST.
    """
    layers: list[nn.Module] = [nn.Conv2d(shape[0], 16, 8, 2, padding=2), nn.Tanh(), nn.MaxPool2d(2, 1)]
    layers += [nn.Conv2d(16, 32, 4, 2), nn.Tanh(), nn.MaxPool2d(2, 1), nn.Flatten()]
    maps = nn.Sequential(*layers)
    features = nn.Sequential(maps, nn.Linear(_width(maps, shape), 32), nn.Tanh())
    return Classifier(features, nn.Linear(32, classes))


def tanh_dense(shape: Shape, classes: int) -> Classifier:
    """Build two dense layers, of 128 units and of the classes, for DP-SGD on features and on tiny images."""
    features = nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), 128), nn.Tanh())
    return Classifier(features, nn.Linear(128, classes))


def _width(features: nn.Module, shape: Shape) -> int:
    """Count the features of an image of that shape."""
    with torch.no_grad():
        return int(features(torch.zeros(1, *shape)).shape[1])
