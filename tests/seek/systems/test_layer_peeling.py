"""Peeling: exact where a network is a chain that can be undone, nothing elsewhere."""

import pytest
import torch
from torch import nn

from hideseek.chance import seeded
from hideseek.models import build
from hideseek.seek.systems.layer_peeling import chain, peeled
from hideseek.train.gradients import gradient, parameters_of
from hideseek.train.worker import torch_seed

SHAPE = (3, 8, 8)


def relu_chain() -> nn.Module:
    """No pooling, and more maps than pixels: ReLUs leave enough."""
    first, second = nn.Conv2d(3, 24, 3, padding=1), nn.Conv2d(24, 12, 3, padding=1)
    maps = nn.Sequential(first, nn.ReLU(), second, nn.ReLU(), nn.Flatten())
    return nn.Sequential(maps, nn.Linear(768, 40), nn.ReLU(), nn.Linear(40, 4))


@pytest.mark.parametrize("name", ["lenet", "tanh-dense", "linear", "chain of ReLUs"])
def test_one_image_comes_back(name: str) -> None:
    with torch_seed(3):
        network = relu_chain() if name == "chain of ReLUs" else build(name, SHAPE, 4)
    image, label = 0.5 * seeded(1).normals(1, *SHAPE), torch.eye(4)[2:3]
    update = gradient(network, parameters_of(network), image, label)
    found = peeled(network, update, SHAPE)
    assert found is not None
    assert float((found - image).abs().max()) < 1e-2


@pytest.mark.parametrize("name", ["small-resnet", "tanh-convnet", "classifier"])
def test_what_is_no_chain_or_cannot_be_undone_is_left(name: str) -> None:
    network = build(name, (3, 16, 16), 4).eval()
    update = gradient(network, parameters_of(network), torch.zeros(1, 3, 16, 16), torch.eye(4)[:1])
    assert peeled(network, update, (3, 16, 16)) is None


def test_the_layers_of_a_chain() -> None:
    layers = chain(build("lenet", SHAPE, 4))
    assert layers is not None
    assert [type(each).__name__ for each in layers] == [*["Conv2d", "Sigmoid"] * 3, "Flatten", "Linear"]
    assert chain(build("resnet20", SHAPE, 4)) is None
