import numpy as np
import pytest
import torch
from PIL import Image

from hideseek.data.shaping import height_and_width, luma, with_channels, with_size
from hideseek.errors import BadInput
from hideseek.records import Samples


def samples(*shape: int, floats: bool = False) -> Samples:
    stored = torch.from_numpy(np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8))
    return Samples(stored.float() / 255 if floats else stored, torch.zeros(len(stored), 0))


def test_luma_is_that_of_pillow() -> None:
    colours = samples(3, 3, 20, 20)
    for colour, grey in zip(colours.images, luma(colours.images), strict=True):
        expected = Image.fromarray(colour.permute(1, 2, 0).contiguous().numpy()).convert("L")
        assert np.array_equal(grey[0].numpy(), np.asarray(expected))


def test_luma_of_floats_weighs_the_channels() -> None:
    assert luma(torch.eye(3).reshape(3, 3, 1, 1)).flatten().tolist() == pytest.approx([0.299, 0.587, 0.114])


def test_grey_is_repeated_and_colour_is_turned_to_grey() -> None:
    grey = samples(4, 1, 9, 8)
    assert with_channels(grey, 3).images.equal(grey.images.repeat(1, 3, 1, 1))
    assert with_channels(samples(4, 3, 9, 8), 1).shape == (1, 9, 8)
    assert with_channels(grey, 1) is grey
    with pytest.raises(BadInput, match="7 channels cannot be turned into 3"):
        with_channels(samples(4, 7, 1, 1), 3)


@pytest.mark.parametrize("floats", [False, True])
def test_resizing_is_that_of_pillow(floats: bool) -> None:
    wide = samples(2, 1, 24, 40, floats=floats)
    resized = with_size(wide, (12, 12)).images
    image = Image.fromarray(samples(2, 1, 24, 40).images[0, 0].numpy()).resize((20, 12), Image.Resampling.BILINEAR)
    expected = np.asarray(image)[:, 4:16].astype(float)
    assert np.abs(resized[0, 0].numpy() * (255 if floats else 1) - expected).max() <= 1


def test_feature_vectors_are_not_resized() -> None:
    with pytest.raises(BadInput, match="feature vectors cannot be resized"):
        with_size(samples(4, 5, 1, 1), (8, 8))


@pytest.mark.parametrize("size", [0, (8, 0), (-1, 8), 100_000])
def test_sizes_are_positive(size: int | tuple[int, int]) -> None:
    with pytest.raises(BadInput, match="1 to 16,384 pixels"):
        height_and_width(size)
