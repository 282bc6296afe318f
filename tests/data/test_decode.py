import io
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from hideseek.data.decode import decode, look
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


DEEP = np.random.default_rng(1).integers(0, 65536, (10, 12), np.uint16)


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_sixteen_bits_of_grey_stay_sixteen(kind: str) -> None:
    decoded = decode(written(Image.fromarray(DEEP), kind), "x", 1, None)
    assert decoded.dtype == np.float32
    assert np.array_equal(np.rint(decoded[0] * 65535), DEEP)
    assert np.array_equal(decode(written(Image.fromarray(DEEP), kind), "x", 3, None), np.repeat(decoded, 3, 0))


def in_colour(kind: str, alpha: bool = False) -> tuple[io.BytesIO, NDArray[np.uint16]]:
    """16 bits of colour, red first, which OpenCV alone can write."""
    rgb = np.random.default_rng(2).integers(0, 65536, (10, 12, 4 if alpha else 3), np.uint16)
    done, content = cv2.imencode(kind, rgb[:, :, [2, 1, 0, 3][: rgb.shape[2]]])
    assert done
    return io.BytesIO(content.tobytes()), rgb


@pytest.mark.parametrize("kind", [".png", ".tiff"])
def test_sixteen_bits_of_colour_stay_sixteen(kind: str) -> None:
    file, rgb = in_colour(kind)
    decoded = decode(file, "x", 3, None)
    assert np.array_equal(np.rint(decoded * 65535), rgb.transpose(2, 0, 1))
    grey = decode(in_colour(kind)[0], "x", 1, None)[0]
    assert np.allclose(grey * 65535, rgb @ [0.299, 0.587, 0.114], atol=0.1)


def test_sixteen_transparent_bits_are_laid_on_white() -> None:
    file, rgba = in_colour(".png", alpha=True)
    share = rgba[:, :, 3:] / 65535
    expected = rgba[:, :, :3] / 65535 * share + 1 - share
    assert np.allclose(decode(file, "x", 3, None).transpose(1, 2, 0), expected, atol=1e-6)


def test_white_may_be_zero_and_twelve_bits_a_number() -> None:
    import tifffile

    file = io.BytesIO()
    tifffile.imwrite(file, DEEP, photometric="miniswhite")
    assert np.array_equal(np.rint((1 - decode(file, "x", 1, None)[0]) * 65535), DEEP)


def test_sixteen_bits_are_resized_as_eight_are() -> None:
    coarse = np.kron(np.random.default_rng(3).integers(0, 256, (8, 12)), np.ones((4, 4))).astype(np.uint8)
    eight = decode(written(Image.fromarray(coarse)), "x", 1, (16, 16)).astype(np.float64) / 255
    sixteen = decode(written(Image.fromarray(coarse.astype(np.uint16) * 257)), "x", 1, (16, 16))
    assert sixteen.shape == (1, 16, 16)
    assert np.abs(sixteen.astype(np.float64) - eight).max() < 1.01 / 255


def test_numbers_of_no_known_range_and_pages_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.tif"
    Image.fromarray(np.ones((9, 9), np.float32)).save(path)
    with pytest.raises(BadInput, match="scan holds numbers of more than 16 bits"):
        look(path, "scan")
    Image.fromarray(ramp()).save(path, save_all=True, append_images=[Image.fromarray(ramp())])
    with pytest.raises(BadInput, match="scan holds several pages; store each as a file of its own"):
        look(path, "scan")


def test_one_bit_images_are_black_and_white() -> None:
    image = Image.fromarray((np.indices((8, 8)).sum(0) % 2 * 255).astype(np.uint8)).convert("1")
    assert set(np.unique(decode(written(image), "x", 1, None))) == {0, 255}


def test_cmyk_becomes_rgb() -> None:
    image = Image.new("CMYK", (16, 16), (0, 255, 255, 0))  # magenta and yellow ink make red
    red, green, blue = decode(written(image, "JPEG", quality=95), "x", 3, None)[:, 8, 8].astype(int)
    assert red > 240
    assert max(green, blue) < 15


@pytest.mark.parametrize("depth", [np.uint8, np.uint16])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_the_camera_may_be_held_any_way(orientation: int, depth: type) -> None:
    upright = Image.fromarray(ramp().astype(depth) * (257 if depth is np.uint16 else 1))
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
    decoded = decode(file, "x", 1, None)[0]
    assert np.array_equal(np.rint(decoded * 255) if depth is np.uint16 else decoded, ramp())


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
    assert look(path, "x").grey
    Image.fromarray(ramp()).save(path, "GIF")
    with pytest.raises(BadInput, match="not a whole JPEG"):
        look(path, "x")


def test_every_cut_of_a_file_is_refused_in_one_sentence() -> None:
    for kind in ("PNG", "JPEG", "WEBP", "BMP"):
        whole = written(
            Image.fromarray(np.random.default_rng(0).integers(0, 256, (16, 16, 3), np.uint8)), kind
        ).getvalue()
        for length in range(0, len(whole) - 20, 7):
            with pytest.raises(BadInput, match=r"^some/name is not a whole"):
                decode(io.BytesIO(whole[:length]), "some/name", 3, None)
