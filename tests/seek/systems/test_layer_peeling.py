"""Peeling: exact where a network is a chain that can be undone, nothing elsewhere."""

from collections.abc import Iterable

import pytest
import torch
from torch import Tensor, nn

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.models import build
from hideseek.seek.systems.layer_chain import chain
from hideseek.seek.systems.layer_peeling import peeled
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
    found = peeled(network, update, SHAPE, label).images
    assert found is not None
    assert float((found - image).abs().max()) < 1e-2


@pytest.mark.parametrize("name", ["small-resnet", "tanh-convnet", "classifier"])
def test_of_what_is_no_chain_or_cannot_be_undone_the_last_layers_are_found(name: str) -> None:
    with torch_seed(3):
        network = build(name, (3, 16, 16), 4).eval()
    image, label = seeded(1).normals(1, 3, 16, 16), torch.eye(4)[:1]
    found = peeled(network, gradient(network, parameters_of(network), image, label), (3, 16, 16), label)
    assert found.images is None
    assert torch.allclose(found.inputs["head"].float(), network.features(image), atol=1e-4)  # type: ignore[operator]


def inputs_of(network: nn.Module, images: Tensor, names: Iterable[str]) -> dict[str, Tensor]:
    seen: dict[str, Tensor] = {}
    for name in names:

        def keep(module: nn.Module, inputs: tuple[Tensor, ...], name: str = name) -> None:
            seen[name] = inputs[0].detach()

        network.get_submodule(name).register_forward_pre_hook(keep)
    network(images)
    return seen


def test_a_batch_is_told_apart_layer_by_layer() -> None:
    with torch_seed(3):
        network = build("convnet", (3, 32, 32), 10)
    images, labels = seeded(1).normals(3, 3, 32, 32), torch.eye(10)[torch.tensor([7, 2, 4])]
    found = peeled(network, gradient(network, parameters_of(network), images, labels), (3, 32, 32), labels)
    assert bool(found.certain.all())
    assert list(found.inputs) == ["head", "features.1", "features.0.12", "features.0.10"]
    for name, values in inputs_of(network, images, found.inputs).items():
        assert torch.allclose(found.inputs[name].float(), values, atol=1e-4 * float(values.abs().max()))


def test_a_max_pooling_is_undone_for_one_image() -> None:
    with torch_seed(3):
        network = build("convnet", (3, 32, 32), 10)
    image, label = normalise(load("faces", size=32), "channel").pixels(slice(0, 1)), torch.eye(10)[2:3]
    image = image.expand(1, 3, 32, 32)
    found = peeled(network, gradient(network, parameters_of(network), image, label), (3, 32, 32), label)
    assert list(found.inputs)[-2:] == ["features.0.7", "features.0.5"]
    for name, values in inputs_of(network, image, found.inputs).items():
        assert float((found.inputs[name] - values).norm() / values.norm()) < 1e-2


def test_images_whose_gradients_are_alike_are_not_certain() -> None:
    with torch_seed(3):
        network = build("convnet", (3, 32, 32), 10)
    image, labels = seeded(1).normals(1, 3, 32, 32), torch.eye(10)[torch.tensor([2, 2, 4])]
    images = torch.cat([image, image + 1e-4 * seeded(2).normals(1, 3, 32, 32), -image])
    found = peeled(network, gradient(network, parameters_of(network), images, labels), (3, 32, 32), labels)
    assert not found.inputs or not bool(found.certain[:2].any())


def test_the_layers_of_a_chain() -> None:
    layers = chain(build("lenet", SHAPE, 4))
    assert layers is not None
    assert [type(each).__name__ for each in layers] == [*["Conv2d", "Sigmoid"] * 3, "Flatten", "Linear"]
    assert chain(build("resnet20", SHAPE, 4)) is None
