"""The networks: their published sizes, what they take and give, and their equations by hand."""

import math

import numpy as np
import pytest
import torch
from scipy.fft import dctn
from torch import nn

from hideseek.errors import BadInput
from hideseek.models import MODELS, Classifier, Shape, build
from hideseek.models.absolute import Standardised, cosines
from hideseek.models.nasnet import Halved, ReductionCell, nasnet
from hideseek.models.resnet import ZeroPadded

SMALL = (3, 32, 32)
LARGE = (3, 224, 224)


def parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize(
    ("name", "shape", "classes", "count"),
    [
        ("resnet18", SMALL, 10, 11_173_962),
        ("resnet20", SMALL, 10, 269_722),  # He et al. 2016, Table 6: 0.27 million
        ("resnet50", SMALL, 10, 23_520_842),
        ("resnet18-imagenet", LARGE, 1000, 11_689_512),
        ("resnet50-imagenet", LARGE, 1000, 25_557_032),
        ("resnext50", LARGE, 1000, 25_028_904),  # Xie et al. 2017, Table 1: 25.0 million
        ("tanh-convnet", (1, 28, 28), 10, 26_010),  # Papernot et al. 2021
        # By hand, from the layers that the docstrings list.
        ("lenet", SMALL, 100, (3 * 25 + 1) * 12 + 2 * (12 * 25 + 1) * 12 + (768 + 1) * 100),
        (
            "convnet",
            SMALL,
            10,
            sum((i * 9 + 1) * o for i, o in [(3, 32), (32, 32), (32, 64), (64, 64), (64, 128), (128, 128)])
            + (128 + 1) * 1024
            + (1024 + 1) * 10,
        ),
        ("classifier", (512, 7, 7), 10, (25_088 + 1 + 2) * 1024 + (1024 + 1 + 2) * 512 + (512 + 1) * 10),
        ("linear", (512, 7, 7), 10, (25_088 + 1) * 10),
        ("relu-dense", SMALL, 10, (3072 + 1) * 1000 + (1000 + 1) * 100 + (100 + 1) * 10),
    ],
)
def test_networks_have_their_published_size(name: str, shape: Shape, classes: int, count: int) -> None:
    with torch.device("meta"):
        assert parameters(MODELS[name](shape, classes)) == count


def test_nasnet_has_its_published_size() -> None:
    assert round(parameters(build("nasnet", SMALL, 10)) / 1e6, 1) == 3.3  # Zoph et al. 2018, Table 1


def test_small_resnet_is_small() -> None:
    network, counted = build("small-resnet", SMALL, 10), []
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            module.register_forward_hook(
                lambda it, _, out: counted.append(it.weight.numel() * math.prod(out.shape[2:]))
            )
    network(torch.zeros(2, *SMALL))
    assert sum(counted) == pytest.approx(5.2e6, rel=0.01)


QUICK = ["small-resnet", "small-resnet-masked", "convnet", "lenet", "tanh-convnet", "resnet20", "classifier"]
IMAGENET = ["resnet18-imagenet", "resnet50-imagenet", "resnext50"]


@pytest.mark.parametrize(
    ("name", "shape"),
    [(name, shape) for name in QUICK for shape in [(1, 28, 28), (3, 32, 32), (3, 64, 64), (2, 33, 41)]]
    + [(name, (3, 32, 35)) for name in IMAGENET]
    + [(name, (1, 12, 9)) for name in MODELS if name not in QUICK and name not in IMAGENET]
    + [("classifier", (1280, 1, 1)), ("convnet", (1, 5, 40)), ("lenet", (1, 4, 4)), ("small-resnet", (1, 8, 8))],
)
def test_networks_are_features_and_a_head(name: str, shape: Shape) -> None:
    torch.manual_seed(0)
    network = build(name, shape, 7)
    assert isinstance(network, Classifier)
    images = torch.randn(3, *shape)
    assert network(images).shape == (3, 7)
    network.eval()
    features = network.features(images)
    assert features.ndim == 2
    torch.testing.assert_close(network.head(features), network(images))
    assert isinstance(network.head, nn.Linear)
    assert features.shape == (3, network.head.in_features)


@pytest.mark.parametrize("name", [name for name in MODELS if "50" not in name])
def test_a_seed_decides_the_weights(name: str) -> None:
    def drawn(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return torch.cat([p.flatten() for p in build(name, (1, 32, 32), 2).parameters()])

    first = drawn(1)
    assert torch.equal(first, drawn(1))
    assert not torch.equal(first, drawn(2))


@pytest.mark.parametrize("name", ["small-resnet", "resnet20", "nasnet"])
def test_activations_keep_their_size_at_the_start(name: str) -> None:
    torch.manual_seed(0)
    network = build(name, SMALL, 10)
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            # The mean of w² · n / 2 over N weights has the standard deviation √(2 / N): six of them.
            reached = math.prod(module.kernel_size) * module.out_channels // module.groups
            ratio = module.weight.square().mean().item() * reached / 2
            assert abs(ratio - 1) < 6 * math.sqrt(2 / module.weight.numel())
    assert 0.05 < network(torch.randn(8, 3, 16, 16)).std() < 5


def test_a_masked_row_is_standardised_by_itself() -> None:
    images = torch.randn(5, 3, 8, 9, generator=torch.Generator().manual_seed(3)) * torch.arange(5.0).view(5, 1, 1, 1)
    values = np.abs(images.numpy().astype(np.float64)).reshape(5, -1)
    deviation = np.maximum(values.std(1, keepdims=True), 1e-12)
    wanted = ((values - values.mean(1, keepdims=True)) / deviation).reshape(images.shape)
    np.testing.assert_allclose(Standardised()(images).numpy(), wanted, atol=1e-5)
    flat = torch.zeros(2, 1, 4, 4, requires_grad=True)
    Standardised()(flat).square().sum().backward()
    assert flat.grad is not None
    assert not flat.grad.any()  # not a NaN: attacks begin with flat images


def test_signs_lengths_and_other_images_change_nothing() -> None:
    torch.manual_seed(0)
    network = build("small-resnet-masked", SMALL, 4).eval()
    images = torch.randn(6, *SMALL)
    asked = torch.where(torch.rand_like(images) < 0.5, -0.6, 0.6) * images
    torch.testing.assert_close(network(asked[2:3]), network(images)[2:3], rtol=1e-4, atol=1e-4)
    assert not torch.allclose(network(images[:1]), network(images[1:2]), atol=1e-3)


@pytest.mark.parametrize("channels", [1, 2, 3])
def test_the_first_convolution_begins_as_cosines(channels: int) -> None:
    """Orthogonal, of length 1, the constant one first; SciPy's DCT of each has one coefficient, and all are smooth."""
    found = cosines(channels, 3, 8).double().numpy()
    np.testing.assert_allclose(np.einsum("acuv,bcuv->ab", found, found), np.eye(8), atol=1e-6)
    spectra = np.abs(dctn(found, axes=(1, 2, 3), norm="ortho"))
    places = [np.unravel_index(each.argmax(), each.shape) for each in spectra]
    assert places[0] == (0, 0, 0)
    assert all(each.sum() == pytest.approx(1, abs=1e-5) for each in spectra)
    assert [sum(map(int, each)) for each in places] == sorted(sum(map(int, each)) for each in places)
    weights = next(build("small-resnet-masked", (channels, 16, 16), 2).parameters()).detach()
    torch.testing.assert_close(weights, torch.cat([cosines(channels, 3, 8), -cosines(channels, 3, 8)]))


def test_no_network_changes_its_input() -> None:
    for name in QUICK:
        images = torch.randn(2, 1, 32, 32)
        before = images.clone()
        build(name, (1, 32, 32), 2)(images)
        assert torch.equal(images, before)


def test_equation_8_by_hand() -> None:
    torch.manual_seed(0)
    network = build("classifier", (5, 2, 1), 3)
    rows = torch.randn(8, 5, 2, 1)
    network(rows + 2)  # so that the running averages are not those of the start
    network.eval()
    state = {name: tensor.double().numpy() for name, tensor in network.state_dict().items()}
    x = rows.double().numpy().reshape(8, 10)
    for linear, norm in [("features.1", "features.2"), ("features.5", "features.6")]:
        x = x @ state[f"{linear}.weight"].T + state[f"{linear}.bias"]
        x = (x - state[f"{norm}.running_mean"]) / np.sqrt(state[f"{norm}.running_var"] + 1e-5)
        x = x * state[f"{norm}.weight"] + state[f"{norm}.bias"]
        x = x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))  # GELU
    expected = x @ state["head.weight"].T + state["head.bias"]
    np.testing.assert_allclose(network(rows).detach().numpy(), expected, atol=1e-5)


def test_dropout_is_in_training_only() -> None:
    network = build("classifier", (5, 1, 1), 3)
    rows = torch.randn(4, 5, 1, 1)
    assert not torch.equal(network(rows), network(rows))
    network.eval()
    assert torch.equal(network(rows), network(rows))


def test_option_a_takes_every_other_pixel_and_adds_zeros() -> None:
    images = torch.randn(2, 3, 5, 4)
    expected = np.zeros((2, 6, 3, 2), np.float32)
    for n, c, h, w in np.ndindex(2, 3, 3, 2):
        expected[n, c, h, w] = images[n, c, 2 * h, 2 * w]
    np.testing.assert_array_equal(ZeroPadded(3, 6, 2)(images).numpy(), expected)
    assert not list(ZeroPadded(3, 6, 2).parameters())


def test_lenet_by_hand() -> None:
    torch.manual_seed(0)
    network = build("lenet", (1, 8, 8), 2)
    state = {name: tensor.double().numpy() for name, tensor in network.state_dict().items()}
    assert all(np.abs(weights).max() <= 0.5 for weights in state.values())
    images = torch.randn(1, 1, 8, 8)
    x = images.double().numpy()[0]
    for layer, stride in [(0, 2), (2, 2), (4, 1)]:
        padded = np.pad(x, ((0, 0), (2, 2), (2, 2)))
        side = -(-x.shape[1] // stride)
        maps = np.empty((12, side, side))
        for o, r, c in np.ndindex(maps.shape):
            window = padded[:, r * stride : r * stride + 5, c * stride : c * stride + 5]
            maps[o, r, c] = (state[f"features.{layer}.weight"][o] * window).sum() + state[f"features.{layer}.bias"][o]
        x = 1 / (1 + np.exp(-maps))
    expected = state["head.weight"] @ x.ravel() + state["head.bias"]
    np.testing.assert_allclose(network(images).detach().numpy()[0], expected, atol=1e-5)


def test_small_digits_are_framed_for_the_convnet() -> None:
    torch.manual_seed(0)
    framed = build("convnet", (1, 28, 28), 10)
    torch.manual_seed(0)
    whole = build("convnet", (1, 32, 32), 10)
    digits = torch.randn(2, 1, 28, 28)
    torch.testing.assert_close(framed(digits), whole(nn.functional.pad(digits, (2, 2, 2, 2))))


def test_halving_sees_even_and_odd_pixels() -> None:
    halved = Halved(1, 2).eval()
    nn.init.ones_(halved.even.weight)
    nn.init.ones_(halved.odd.weight)
    image = torch.arange(1.0, 17).reshape(1, 1, 4, 4)
    even, odd = halved(image)[0] * math.sqrt(1 + halved.norm.eps)
    torch.testing.assert_close(even, image[0, 0, ::2, ::2])
    torch.testing.assert_close(odd, image[0, 0, 1::2, 1::2])


def test_nasnet_grows_as_its_name_says() -> None:
    network = nasnet((3, 8, 8), 5, repeats=4, width=4)
    cells = network.features[2].cells  # type: ignore[index]
    assert len(cells) == 14
    assert [place for place, cell in enumerate(cells) if isinstance(cell, ReductionCell)] == [4, 9]
    assert network.features(torch.zeros(2, 3, 8, 8)).shape == (2, 96)
    assert network.features[:3](torch.zeros(2, 3, 8, 8)).shape == (2, 96, 2, 2)  # type: ignore[index]


@pytest.mark.parametrize("name", ["nasnet", "resnet20", "resnet18-imagenet"])
def test_every_weight_is_used(name: str) -> None:
    torch.manual_seed(0)
    network = build(name, (3, 32, 32), 3)
    network(torch.randn(2, 3, 32, 32)).square().sum().backward()
    assert all(p.grad is not None for p in network.parameters())


@pytest.mark.parametrize(
    ("name", "shape", "classes", "message"),
    [
        ("resnet81", SMALL, 10, "no model 'resnet81': did you mean resnet18"),
        ("transformer", SMALL, 10, "choose one of small-resnet, .*convnet"),
        ("resnet18", SMALL, 1, "at least 2 classes"),
        ("resnet18", (0, 32, 32), 10, "channels and pixels"),
        ("resnet50-imagenet", (1, 28, 28), 10, "resnet50-imagenet needs images of at least 32×32 pixels, not 28×28"),
        ("small-resnet", (3, 32, 7), 10, "at least 8×8 pixels, not 32×7"),
    ],
)
def test_what_cannot_be_built(name: str, shape: Shape, classes: int, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        build(name, shape, classes)
