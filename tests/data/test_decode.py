import io
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from hideseek.data.decode import decode, is_grey
from hideseek.errors import BadInput


def written(image: Image.Image, kind: str = "PNG", **options: object) -> io.BytesIO:
    file = io.BytesIO()
    image.save(file, kind, **options)
    file.seek(0)
    return file


def ramp(height: int = 10, width: int = 12) -> NDArray[np.uint8]:
    return np.arange(height * width, dtype=np.uint8).reshape(height, width)


def test_grey_and_colour_are_exact() -> None:
    grey = ramp()
    assert np.array_equal(decode(written(Image.fromarray(grey)), "x", 1, None), grey[None])
    assert np.array_equal(decode(written(Image.fromarray(grey)), "x", 3, None), np.stack([grey] * 3))


def test_a_palette_gives_its_colours() -> None:
    image = Image.new("P", (9, 8), 1)
    image.putpalette([0, 0, 0, 10, 20, 30])
    assert (decode(written(image), "x", 3, None) == np.array([10, 20, 30])[:, None, None]).all()


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_transparency_is_laid_on_white(mode: str) -> None:
    image = Image.new("RGBA", (8, 8), (0, 0, 0, 0)).convert(mode)
    assert (decode(written(image), "x", 3, None) == 255).all()
    half = Image.new("RGBA", (8, 8), (0, 0, 0, 128)).convert(mode)
    assert (decode(written(half), "x", 1, None) == 127).all()


def test_a_transparent_palette_colour_is_laid_on_white() -> None:
    image = Image.new("P", (8, 8), 1)
    image.putpalette([0, 0, 0, 10, 20, 30])
    assert (decode(written(image, transparency=1), "x", 3, None) == 255).all()


def test_sixteen_bits_become_eight_over_the_full_range() -> None:
    values = np.array([0, 128, 129, 257, 32896, 65535], np.uint16)
    image = Image.fromarray(np.tile(values, (8, 2)))
    decoded = decode(written(image), "x", 1, None)[0, 0, :6]
    assert decoded.tolist() == [round(value / 257) for value in values.tolist()]


def test_one_bit_images_are_black_and_white() -> None:
    image = Image.fromarray((np.indices((8, 8)).sum(0) % 2 * 255).astype(np.uint8)).convert("1")
    assert set(np.unique(decode(written(image), "x", 1, None))) == {0, 255}


def test_cmyk_becomes_rgb() -> None:
    image = Image.new("CMYK", (16, 16), (0, 255, 255, 0))  # magenta and yellow ink make red
    red, green, blue = decode(written(image, "JPEG", quality=95), "x", 3, None)[:, 8, 8].astype(int)
    assert red > 240
    assert max(green, blue) < 15


@pytest.mark.parametrize("orientation", range(1, 9))
def test_the_camera_may_be_held_any_way(orientation: int) -> None:
    upright = Image.fromarray(ramp())
    # How a camera stores it: the inverse of what the tag asks a viewer to do.
    stored = {
        1: lambda image: image,
        2: np.fliplr,
        3: lambda image: np.rot90(image, 2),
        4: np.flipud,
        5: lambda image: image.T,
        6: lambda image: np.rot90(image, 1),
        7: lambda image: np.rot90(image, 2).T,
        8: lambda image: np.rot90(image, -1),
    }[orientation](np.asarray(upright))
    tags = Image.Exif()
    tags[0x0112] = orientation
    file = written(Image.fromarray(np.ascontiguousarray(stored)), exif=tags)
    assert np.array_equal(decode(file, "x", 1, None)[0], ramp())


def test_resizing_covers_and_crops_the_centre() -> None:
    picture = np.zeros((20, 60), np.uint8)
    picture[:, 20:40] = 200  # the middle third is all that is left
    assert (decode(written(Image.fromarray(picture)), "x", 1, (20, 20)) == 200).all()
    halved = decode(written(Image.fromarray(picture)), "x", 1, (10, 10))
    assert halved.shape == (1, 10, 10)
    assert (halved[:, :, 1:-1] == 200).all()


def test_a_large_photograph_is_reduced_without_a_shift() -> None:
    smooth = np.linspace(0, 255, 512, dtype=np.float64)[None].repeat(512, 0).astype(np.uint8)
    small = decode(written(Image.fromarray(smooth), "JPEG", quality=95), "x", 1, (16, 16))[0].astype(float)
    expected = smooth.reshape(16, 32, 16, 32).mean((1, 3))
    assert np.abs(small - expected)[:, 1:-1].max() < 2


def test_content_decides_and_not_the_suffix(tmp_path: Path) -> None:
    path = tmp_path / "really a png.jpg"
    Image.fromarray(ramp()).save(path, "PNG")
    assert is_grey(path, "x")
    Image.fromarray(ramp()).save(path, "GIF")
    with pytest.raises(BadInput, match="not a whole JPEG"):
        is_grey(path, "x")


def test_every_cut_of_a_file_is_refused_in_one_sentence() -> None:
    for kind in ("PNG", "JPEG", "WEBP", "BMP"):
        whole = written(
            Image.fromarray(np.random.default_rng(0).integers(0, 256, (16, 16, 3), np.uint8)), kind
        ).getvalue()
        for length in range(0, len(whole) - 20, 7):
            with pytest.raises(BadInput, match=r"^some/name is not a whole"):
                decode(io.BytesIO(whole[:length]), "some/name", 3, None)
