from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from hideseek.data import load, normalise
from hideseek.data.normalise import _stored_sums
from hideseek.errors import BadInput
from hideseek.records import Normalisation, Samples


def samples(count: int, *shape: int, floats: bool = False, seed: int = 0) -> Samples:
    stored = torch.from_numpy(np.random.default_rng(seed).integers(0, 256, (count, *shape), dtype=np.uint8))
    labels = torch.zeros(count, 0)
    return Samples(stored.float() / 255, labels) if floats else Samples(stored, labels, torch.full((1, 1), 1 / 255))


def raw(images: Samples) -> NDArray[np.float64]:
    stored, scale, shift = (tensor.numpy().astype(float) for tensor in (images.images, images.scale, images.shift))
    values: NDArray[np.float64] = scale[:, :, None, None] * stored + shift[:, :, None, None]
    return values


@pytest.mark.parametrize("floats", [False, True])
@pytest.mark.parametrize("shape", [(3, 32, 32), (1, 28, 28), (3, 19, 23), (5, 1, 1), (3, 300, 270)])
def test_channel_is_that_of_numpy(shape: tuple[int, int, int], floats: bool) -> None:
    images = samples(7 if shape[1] == 300 else 37, *shape, floats=floats)
    x = raw(images)
    mean, std = x.mean((0, 2, 3), keepdims=True), x.std((0, 2, 3), keepdims=True)
    result = normalise(images, "channel")
    assert np.abs(result.pixels().numpy() - (x - mean) / std).max() < 2e-6
    assert result.normalisation.mean == pytest.approx(mean.ravel().tolist(), rel=1e-12)
    assert result.normalisation.std == pytest.approx(std.ravel().tolist(), rel=1e-12)


@pytest.mark.parametrize("floats", [False, True])
@pytest.mark.parametrize("shape", [(3, 32, 32), (1, 28, 28), (3, 19, 23), (3, 300, 270)])
def test_image_is_that_of_numpy(shape: tuple[int, int, int], floats: bool) -> None:
    images = samples(7 if shape[1] == 300 else 37, *shape, floats=floats)
    x = raw(images)
    centred = x - x.mean((1, 2, 3), keepdims=True)
    expected = centred / np.sqrt((centred**2).sum((1, 2, 3), keepdims=True))
    result = normalise(images, "image")
    assert np.abs(result.pixels().numpy() - expected).max() < 1e-7
    assert result.normalisation == Normalisation("image")


def test_an_affine_map_of_its_own_for_each_image_and_channel_is_respected() -> None:
    generator = np.random.default_rng(1)
    images = samples(9, 3, 8, 8)
    scale, shift = (torch.from_numpy(generator.normal(size=(9, 3)).astype(np.float32)) for _ in range(2))
    images = replace(images, scale=scale, shift=shift)
    x = raw(images)
    by_channel = (x - x.mean((0, 2, 3), keepdims=True)) / x.std((0, 2, 3), keepdims=True)
    assert np.abs(normalise(images, "channel").pixels().numpy() - by_channel).max() < 1e-5
    centred = x - x.mean((1, 2, 3), keepdims=True)
    by_image = centred / np.sqrt((centred**2).sum((1, 2, 3), keepdims=True))
    assert np.abs(normalise(images, "image").pixels().numpy() - by_image).max() < 1e-6


def test_sums_of_bytes_are_exact() -> None:
    images = torch.full((2, 3, 257, 263), 255, dtype=torch.uint8)
    images[1, 2, 256, 262] = 254
    total, squares = _stored_sums(images)
    assert total.long().equal(images.long().sum((2, 3)))
    assert squares.long().equal(images.long().square().sum((2, 3)))


def test_a_view_with_channels_last_gives_the_same() -> None:
    images = samples(20, 3, 16, 16)
    permuted = images.images.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
    for how in ("channel", "image"):
        view = normalise(replace(images, images=permuted), how)
        assert view.pixels().equal(normalise(images, how).pixels())


def test_pixels_are_not_copied() -> None:
    images = samples(5, 3, 8, 8)
    for how in ("none", "channel", "image"):
        assert normalise(images, how).images is images.images


@pytest.mark.parametrize("value", [0, 1, 255])
@pytest.mark.parametrize("floats", [False, True])
def test_a_constant_image_becomes_zero_and_its_neighbours_do_not(value: int, floats: bool) -> None:
    images = samples(3, 3, 65, 63, floats=floats)
    images.images[1] = value / 255 if floats else value
    pixels = normalise(images, "image").pixels()
    assert (pixels[1] == 0).all()
    assert pixels[[0, 2]].flatten(1).norm(dim=1).tolist() == pytest.approx([1, 1], rel=1e-5)


@pytest.mark.parametrize("floats", [False, True])
def test_rounding_is_not_taken_for_contrast(floats: bool) -> None:
    values = torch.arange(256, dtype=torch.uint8)[:, None, None, None].expand(256, 3, 25, 25)
    flat = Samples(values, torch.zeros(256, 0), torch.full((1, 1), 1 / 255), torch.full((1, 1), 0.1))
    if floats:
        flat = Samples(flat.pixels(), flat.labels)
    assert (normalise(flat, "image").pixels() == 0).all()
    for row in range(256):
        with pytest.raises(BadInput, match="same value in every pixel"):
            normalise(flat.take(slice(row, row + 1)), "channel")


def test_an_image_that_is_not_quite_constant_keeps_its_direction() -> None:
    images = samples(2, 3, 500, 500)
    images.images[0] = 255
    images.images[0, 0, 0, 0] = 254
    pixels = normalise(images, "image").pixels(slice(0, 1))
    assert pixels.min().item() == pytest.approx(-1, abs=1e-3)


def test_constants_of_one_set_apply_to_another() -> None:
    training, test = samples(30, 3, 8, 8), samples(4, 3, 8, 8, seed=1)
    constants = normalise(training, "channel").normalisation
    result = normalise(test, constants)
    mean, std = (np.array(values)[None, :, None, None] for values in (constants.mean, constants.std))
    assert np.allclose(result.pixels().numpy(), (raw(test) - mean) / std, atol=1e-5)
    assert result.normalisation == constants
    assert normalise(test, Normalisation("image")).pixels().equal(normalise(test, "image").pixels())


def test_what_cannot_be_normalised() -> None:
    images = samples(5, 3, 8, 8)
    with pytest.raises(BadInput, match="normalised by channel already"):
        normalise(normalise(images, "channel"), "image")
    with pytest.raises(BadInput, match="constants for 1 channels do not fit images with 3"):
        normalise(images, Normalisation("channel", (0.5,), (0.2,)))
    with pytest.raises(BadInput, match="standard deviations must be positive and finite"):
        normalise(images, Normalisation("channel", (0.5,) * 3, (0.2, 0.0, 0.2)))
    images.images[:] = 200
    with pytest.raises(BadInput, match="same value in every pixel"):
        normalise(images, "channel")


@pytest.mark.parametrize("floats", [False, True])
def test_a_constant_channel_becomes_zero_and_the_others_do_not(floats: bool) -> None:
    images = samples(5, 3, 8, 8, floats=floats)
    images.images[:, 1] = 200 / 255 if floats else 200
    result = normalise(images, "channel")
    assert result.pixels()[:, 1].abs().max() < 1e-6
    assert result.pixels()[:, [0, 2]].std((0, 2, 3), correction=0).tolist() == pytest.approx([1, 1], rel=1e-5)
    assert result.normalisation.std[1] == 1
    other = normalise(samples(4, 3, 8, 8, seed=1), result.normalisation)  # where it varies, by how much it differs
    expected = raw(samples(4, 3, 8, 8, seed=1))[:, 1] - 200 / 255
    assert np.abs(other.pixels()[:, 1].numpy() - expected).max() < 1e-6


def test_the_known_constants_of_cifar10(real_data: object) -> None:
    constants = normalise(load("cifar10"), "channel").normalisation
    assert constants.mean == pytest.approx((0.4914, 0.4822, 0.4465), abs=5e-5)
    assert constants.std == pytest.approx((0.2470, 0.2435, 0.2616), abs=5e-5)
