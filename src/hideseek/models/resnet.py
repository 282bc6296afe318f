"""ResNets (He et al. 2016) and ResNeXts (Xie et al. 2017): in the form for small images, and in that for ImageNet."""

from collections.abc import Callable, Sequence
from functools import partial

import torch.nn.functional as F  # noqa: N812 (as everybody calls it)
from jaxtyping import Float
from torch import Tensor, nn

from hideseek.models.classifier import Classifier, Shape, initialise

Between = Callable[[int, int, int], nn.Module]  # given input channels, output channels and the stride


class Residual(nn.Module):
    """Add a path to its shortcut: y = ReLU(F(x) + s(x)) (He et al., Eq. 1 and 2)."""

    def __init__(self, path: nn.Module, shortcut: nn.Module) -> None:
        super().__init__()
        self.path = path
        self.shortcut = shortcut

    def forward(self, x: Float[Tensor, "n c1 h1 w1"]) -> Float[Tensor, "n c h w"]:
        """Give y."""
        return F.relu(self.path(x) + self.shortcut(x))


class ZeroPadded(nn.Module):
    """Shorten by taking every `stride`th pixel, and zeros for the channels that are new (He et al., option A)."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.new = outputs - inputs
        self.stride = stride

    def forward(self, x: Float[Tensor, "n c1 h1 w1"]) -> Float[Tensor, "n c h w"]:
        """Subsample, and append zeros."""
        return F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, 0, self.new))


def normed(inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> nn.Sequential:
    """Convolve, keeping the size but for the stride, and normalise; no bias, since BatchNorm has one."""
    convolution = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs))


def projection(inputs: int, outputs: int, stride: int) -> nn.Module:
    """Shorten by a 1×1 convolution (option B)."""
    return normed(inputs, outputs, 1, stride)


def basic(inputs: int, outputs: int, stride: int) -> nn.Module:
    """Give the path of two 3×3 convolutions."""
    return nn.Sequential(normed(inputs, outputs, 3, stride), nn.ReLU(), normed(outputs, outputs, 3))


def bottleneck(inputs: int, outputs: int, stride: int, narrow: int = 4, groups: int = 1) -> nn.Module:
    """Give the path 1×1, 3×3, 1×1 whose middle is `narrow` times narrower than its end.

    Deviation: the stride is in the 3×3 convolution, as in ResNeXt and in every published set of weights; He et al.
    have it in the first 1×1. The number of parameters is the same.
    """
    inner = outputs // narrow
    middle = normed(inner, inner, 3, stride, groups)
    return nn.Sequential(normed(inputs, inner, 1), nn.ReLU(), middle, nn.ReLU(), normed(inner, outputs, 1))


def small_stem(channels: int, width: int, stride: int = 1) -> nn.Sequential:
    """Begin with a 3×3 convolution, for images that are small already."""
    return nn.Sequential(normed(channels, width, 3, stride), nn.ReLU())


def large_stem(channels: int, width: int) -> nn.Sequential:
    """Begin with a 7×7 convolution of stride 2 and 3×3 max-pooling of stride 2, for images as in ImageNet."""
    return nn.Sequential(normed(channels, width, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1))


def resnet(
    stem: nn.Module,
    width: int,
    stages: Sequence[tuple[int, int, int]],
    classes: int,
    path: Between = basic,
    shortcut: Between = projection,
) -> Classifier:
    """Chain a stem of `width` channels and stages of (channels, blocks, stride), average, and judge by a dense layer.

    `features[:-2]` are the maps before they are averaged.
    """
    layers: list[nn.Module] = [stem]
    for outputs, blocks, first_stride in stages:
        for stride in (first_stride, *[1] * (blocks - 1)):
            same = stride == 1 and width == outputs
            layers.append(
                Residual(path(width, outputs, stride), nn.Identity() if same else shortcut(width, outputs, stride))
            )
            width = outputs
    network = Classifier(nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten()), nn.Linear(width, classes))
    initialise(network)
    return network


_18 = [(64, 2, 1), (128, 2, 2), (256, 2, 2), (512, 2, 2)]
_50 = [(256, 3, 1), (512, 4, 2), (1024, 6, 2), (2048, 3, 2)]
_grouped: Between = partial(bottleneck, narrow=2, groups=32)  # 32×4d: twice the inner width, in 32 groups


def resnet18(shape: Shape, classes: int) -> Classifier:
    """Build ResNet-18 for small images: a 3×3 stem of stride 1 and no max-pooling."""
    return resnet(small_stem(shape[0], 64), 64, _18, classes)


def resnet20(shape: Shape, classes: int) -> Classifier:
    """Build the ResNet-20 that He et al. (§4.2) made for CIFAR-10: 16, 32 and 64 channels, parameter-free shortcuts."""
    return resnet(small_stem(shape[0], 16), 16, [(16, 3, 1), (32, 3, 2), (64, 3, 2)], classes, basic, ZeroPadded)


def resnet50(shape: Shape, classes: int) -> Classifier:
    """Build ResNet-50 for small images."""
    return resnet(small_stem(shape[0], 64), 64, _50, classes, bottleneck)


def resnet18_imagenet(shape: Shape, classes: int) -> Classifier:
    """Build ResNet-18 as in He et al., Table 1."""
    return resnet(large_stem(shape[0], 64), 64, _18, classes)


def resnet50_imagenet(shape: Shape, classes: int) -> Classifier:
    """Build ResNet-50 as in He et al., Table 1."""
    return resnet(large_stem(shape[0], 64), 64, _50, classes, bottleneck)


def resnext50(shape: Shape, classes: int) -> Classifier:
    """Build ResNeXt-50 (32×4d) as in Xie et al., Table 1."""
    return resnet(large_stem(shape[0], 64), 64, _50, classes, _grouped)


def resnext50_small(shape: Shape, classes: int) -> Classifier:
    """Build ResNeXt-50 (32×4d) for small images."""
    return resnet(small_stem(shape[0], 64), 64, _50, classes, _grouped)
