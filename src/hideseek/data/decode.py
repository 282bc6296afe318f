"""One image file in, its pixels out: bytes, or floats where it has 16 bits."""

import struct
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hideseek.data.deep_image import BITS, deep_pixels, depth, fitted, is_deep
from hideseek.data.reader import Look, Reader
from hideseek.data.shaping import covering
from hideseek.errors import BadInput
from hideseek.files import check_plain

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFile import ImageFile

SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff")
SMALLEST = 8  # pixels on a side
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "TIFF")
KINDS = "JPEG, PNG, WebP, BMP or TIFF"
_DICOM = "read DICOM files by dicom:PATH, in a folder of their own"
CONVERT = {".dcm": _DICOM, ".dicom": _DICOM, ".dic": _DICOM}
_ORIENTATION = 0x0112  # the EXIF tag that says how the camera was held
_BROKEN = (OSError, SyntaxError, ValueError, EOFError, IndexError, struct.error, zlib.error)


class BadImage(BadInput):
    """A file that cannot be used as an image: what is wrong with it, as of several such files, and in full."""

    def __init__(self, name: str, fault: str, sentence: str) -> None:
        super().__init__(sentence)
        self.name = name
        self.fault = fault


def how_to_convert(suffixes: Iterable[str]) -> str:
    """Say how files of these types can be read; nothing where that is not known.

    >>> how_to_convert([".txt", ".dcm"])
    'read DICOM files by dicom:PATH, in a folder of their own'
    """
    return ", and ".join(dict.fromkeys(CONVERT[suffix] for suffix in suffixes if suffix in CONVERT))


@contextmanager
def blame(name: str) -> Iterator[None]:
    """Turn what Pillow raises for a bad file into one sentence about the file called `name`."""
    from PIL.Image import DecompressionBombError

    try:
        yield
    except BadInput:
        raise
    except DecompressionBombError as error:
        sentence = f"{name} has more pixels than is safe to decode; scale it down or take it out."
        raise BadImage(name, "more pixels than is safe to decode", sentence) from error
    except PermissionError as error:
        sentence = f"{name} may not be read by this user; change its permissions or take it out."
        raise BadImage(name, "may not be read by this user", sentence) from error
    except _BROKEN as error:
        remedy = how_to_convert([Path(name).suffix.lower()]) or "replace it or take it out"
        sentence = f"{name} is not a whole {KINDS} image ({str(error) or type(error).__name__}); {remedy}."
        raise BadImage(name, f"not a whole {KINDS} image", sentence) from error


def look(file: Path, name: str) -> Look:
    """Tell from its head what an image is like, and refuse one that is too small, or that is no picture."""
    with blame(name), _opened(file) as image:
        if min(image.size) < SMALLEST:
            raise BadImage(
                name,
                f"smaller than {SMALLEST}×{SMALLEST} pixels",
                f"{name} has {image.width}×{image.height} pixels and at least {SMALLEST}×{SMALLEST} are needed;"
                " replace it or take it out.",
            )
        if image.mode == "F" or depth(image) > BITS:
            fault = f"numbers of more than {BITS} bits"
            raise BadImage(name, fault, f"{name} holds {fault}, of unknown range; store it in {BITS} bits.")
        if image.format == "TIFF" and getattr(image, "n_frames", 1) > 1:
            fault = "several pages"
            raise BadImage(name, fault, f"{name} holds {fault}; store each as a file of its own.")
        grey = image.mode in ("1", "L", "LA") or image.mode.startswith("I")
        return Look(min(image.size), grey, is_deep(image))


def decode(file: Path | IO[bytes], name: str, channels: int, size: tuple[int, int] | None) -> NDArray[np.generic]:
    """Give an image, c×h×w, upright, with one channel or three; resized and cropped to `size` if given.

    It comes as bytes, or as floats from 0 to 1 where it has 16 bits to a number. Transparency is laid on white, as a
    viewer shows it; the first frame of an animation is taken. Colour profiles are not applied.
    Deviation: a JPEG more than twice too large is scaled down by its decoder first, which is several times faster.
    """
    from PIL import Image

    with blame(name), _opened(file) as opened:
        if is_deep(opened):
            turn = opened.getexif().get(_ORIENTATION, 1)
            return fitted(deep_pixels(file, opened, turn, channels), size)
        if size is not None:
            opened.draft(None, (2 * max(size), 2 * max(size)))
        image = _without_alpha(_upright(opened)).convert("L" if channels == 1 else "RGB")
        if size is not None:
            height, width = covering(image.height, image.width, size)
            top, left = (height - size[0]) // 2, (width - size[1]) // 2
            image = image.resize((width, height), Image.Resampling.BILINEAR)
            image = image.crop((left, top, left + size[1], top + size[0]))
        return np.asarray(image, np.uint8).reshape(image.height, image.width, channels).transpose(2, 0, 1)


def _only(file: Path, name: str, channels: int, size: tuple[int, int] | None) -> Iterator[NDArray[np.generic]]:
    yield decode(file, name, channels, size)


def _is_picture(file: Path) -> bool:
    return file.suffix.lower() in SUFFIXES


PICTURES = Reader(KINDS, _is_picture, look, _only, threads=4, indexed=True)  # Pillow works without Python's lock


def _opened(file: Path | IO[bytes]) -> "ImageFile":
    from PIL import Image

    if isinstance(file, Path):
        check_plain(file)
    return Image.open(file, formats=FORMATS)


def _upright(image: "Image") -> "Image":
    """Turn or mirror an image as its EXIF orientation asks."""
    from PIL.Image import Transpose

    turns = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }
    turn = turns.get(image.getexif().get(_ORIENTATION, 1))
    return image if turn is None else image.transpose(turn)


def _without_alpha(image: "Image") -> "Image":
    """Lay what is transparent on white."""
    from PIL import Image

    if not image.has_transparency_data:
        return image
    with_alpha = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", image.size, "white"), with_alpha).convert("RGB")
