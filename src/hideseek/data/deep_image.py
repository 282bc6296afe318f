"""Images of 16 bits, kept at their depth: floats from 0, black, to 1, white."""

from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float32
from numpy.typing import NDArray

from hideseek.data.shaping import covering

if TYPE_CHECKING:
    from PIL.ImageFile import ImageFile

BITS = 16
_BITS_TAG, _PHOTOMETRIC_TAG, _WHITE_IS_ZERO = 258, 262, 0  # of TIFF
_GREY = np.array([0.299, 0.587, 0.114], np.float32)  # ITU-R BT.601, as for images of 8 bits
Pixels = Float32[np.ndarray, "c h w"]


def is_deep(image: "ImageFile") -> bool:
    """Tell whether an image has 16 bits to a number, from its head; of colours, Pillow would give 8 of them."""
    packed = str(image.tile[0].args) if image.tile else ""
    return image.mode.startswith("I") or ";16" in packed


def depth(image: "ImageFile") -> int:
    """Give how many bits are used: what a TIFF says, else 16."""
    said = getattr(image, "tag_v2", {}).get(_BITS_TAG, (BITS,))
    return int(max(said))


def deep_pixels(file: Path | IO[bytes], image: "ImageFile", turn: int, channels: int) -> Pixels:
    """Give an image upright, c×h×w, with one channel or three; what is transparent is laid on white.

    OpenCV decodes colours, since Pillow keeps 8 of their bits; black and white are as Pillow would have them.
    """
    if image.mode.startswith("I"):
        values = np.asarray(image)[:, :, None].astype(np.float32)
    else:
        values = _decoded(file).astype(np.float32)
    values = turned(values / np.float32(2 ** depth(image) - 1), turn).clip(0, 1)
    if getattr(image, "tag_v2", {}).get(_PHOTOMETRIC_TAG) == _WHITE_IS_ZERO:
        values = 1 - values
    if values.shape[2] == 4:
        alpha = values[:, :, 3:]
        values = values[:, :, :3] * alpha + (1 - alpha)
    return with_channels(values.transpose(2, 0, 1), channels)


def _decoded(file: Path | IO[bytes]) -> NDArray[Any]:
    """Decode colours of 16 bits, red first."""
    import cv2

    if not isinstance(file, Path):
        file.seek(0)
    content = file.read_bytes() if isinstance(file, Path) else file.read()
    flags = cv2.IMREAD_UNCHANGED | cv2.IMREAD_IGNORE_ORIENTATION
    found: NDArray[Any] | None = cv2.imdecode(np.frombuffer(content, np.uint8), flags)
    if found is None or found.dtype != np.uint16 or found.ndim != 3:
        raise ValueError("16 bits of colour cannot be decoded")
    order = [2, 1, 0, 3][: found.shape[2]]
    return found[:, :, order]


def turned(values: NDArray[Any], orientation: int) -> NDArray[Any]:
    """Turn or mirror an image, h×w×c, as its EXIF orientation asks."""
    if orientation in (5, 6, 7, 8):
        values = values.transpose(1, 0, 2)
    rows = slice(None, None, -1 if orientation in (3, 4, 7, 8) else 1)
    columns = slice(None, None, -1 if orientation in (2, 3, 6, 7) else 1)
    return values[rows, columns]


def with_channels(values: Pixels, channels: int) -> Pixels:
    """Make colours grey, or repeat grey three times, where the number of channels differs."""
    if len(values) == channels:
        return values
    return values.repeat(3, axis=0) if channels == 3 else np.tensordot(_GREY, values, 1)[None]


def fitted(values: Pixels, size: tuple[int, int] | None) -> Pixels:
    """Resize so that the shorter side fits, bilinear and antialiased, and crop the centre."""
    from PIL import Image

    if size is None or values.shape[1:] == size:
        return np.ascontiguousarray(values, np.float32)
    height, width = covering(values.shape[1], values.shape[2], size)
    top, left = (height - size[0]) // 2, (width - size[1]) // 2
    resized = [
        np.asarray(Image.fromarray(np.ascontiguousarray(each)).resize((width, height), Image.Resampling.BILINEAR))
        for each in values.astype(np.float32)
    ]
    return np.stack(resized)[:, top : top + size[0], left : left + size[1]].clip(0, 1)
