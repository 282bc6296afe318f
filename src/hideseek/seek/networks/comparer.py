"""The networks that compare rows with images: features of both, which are alike if one is in the other."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from hideseek.records import Task
from hideseek.seek.work import TOUCH

WIDTH = 16  # channels of the first layer
FEATURES = 128
SHARPNESS = 10.0  # of the softmax over the images of a batch


class Comparer(nn.Module):
    """Two networks of one form, for encodings and for images, whose features are alike if one is in the other."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.rows, self.images = _tower(channels), _tower(channels)

    def forward(self, rows: Tensor, images: Tensor) -> tuple[Tensor, Tensor]:
        """Give the features of both, of length one."""
        return functional.normalize(self.rows(rows)), functional.normalize(self.images(images))


def _tower(channels: int) -> nn.Sequential:
    def stage(before: int, after: int, stride: int) -> list[nn.Module]:
        return [nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU()]

    return nn.Sequential(
        *stage(channels, WIDTH, 1),
        *stage(WIDTH, 2 * WIDTH, 2),
        *stage(2 * WIDTH, 4 * WIDTH, 2),
        *stage(4 * WIDTH, 4 * WIDTH, 1),
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
        nn.Linear(4 * WIDTH * 16, FEATURES),
    )


def forward_work(task: Task) -> float:
    """Count what a tower does with one image: multiplications of its convolutions, and three maps after each."""
    layers = ((task.channels, WIDTH, 1), (WIDTH, 2 * WIDTH, 4), (2 * WIDTH, 4 * WIDTH, 16), (4 * WIDTH, 4 * WIDTH, 16))
    place = sum((9 * before * after + 3 * after * TOUCH) / fewer for before, after, fewer in layers)
    return place * task.pixels / task.channels


def objective(network: nn.Module, batch: tuple[Tensor, ...]) -> tuple[Tensor, dict[str, Tensor]]:
    """Give −log softmax of the features' inner products: an image is told from the other images of its batch."""
    rows, images = network(batch[0], batch[1])
    likeness = SHARPNESS * rows @ images.T
    own = torch.arange(len(rows), device=rows.device)
    return functional.cross_entropy(likeness, own), {"accuracy": (likeness.argmax(1) == own).float().mean()}
