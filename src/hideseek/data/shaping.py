"""One size and one number of channels for all images of a set."""

from dataclasses import replace

import torch
from jaxtyping import Shaped
from torch import Tensor

from hideseek.data.store import rewrite
from hideseek.errors import BadInput
from hideseek.records import Samples

LARGEST = 1 << 14  # pixels on a side
Size = int | tuple[int, int]  # a side, or height and width


def height_and_width(size: Size) -> tuple[int, int]:
    """Give a size as height and width.

    >>> height_and_width(32)
    (32, 32)
    """
    height, width = (size, size) if isinstance(size, int) else size
    if not (1 <= height <= LARGEST and 1 <= width <= LARGEST):
        raise BadInput(f"a size must be 1 to {LARGEST:,} pixels, not {height}×{width}.")
    return height, width


def covering(height: int, width: int, target: tuple[int, int]) -> tuple[int, int]:
    """Give the size, of the same proportions, that just covers the target: the shorter side fits, the longer overhangs.

    >>> covering(100, 200, (32, 32))
    (32, 64)
    """
    factor = max(target[0] / height, target[1] / width)
    return max(target[0], round(height * factor)), max(target[1], round(width * factor))


def luma(images: Shaped[Tensor, "n 3 h w"]) -> Shaped[Tensor, "n 1 h w"]:
    """Turn colours to grey: 0.299 R + 0.587 G + 0.114 B (ITU-R BT.601), for bytes in 16-bit fixed point.

    >>> luma(torch.tensor([255, 0, 0], dtype=torch.uint8).reshape(1, 3, 1, 1)).item()
    76
    """
    if images.dtype == torch.uint8:
        red, green, blue = images.int().unbind(1)
        return ((19595 * red + 38470 * green + 7471 * blue + 32768) >> 16).byte().unsqueeze(1)
    red, green, blue = images.unbind(1)
    return (0.299 * red + 0.587 * green + 0.114 * blue).unsqueeze(1)


def with_channels(samples: Samples, channels: int | None) -> Samples:
    """Repeat a grey channel three times (MNIST as in InstaHide §5), or turn three to grey."""
    have, height, width = samples.shape
    if channels is None or channels == have:
        return samples
    if have not in (1, 3):
        raise BadInput(f"{have} channels cannot be turned into {channels}; leave out channels for feature vectors.")
    change = luma if channels == 1 else lambda grey: grey.expand(-1, 3, -1, -1)
    dtype = samples.images.numpy().dtype
    return replace(samples, images=rewrite(samples.images, change, (channels, height, width), dtype))


def with_size(samples: Samples, size: tuple[int, int] | None) -> Samples:
    """Resize so that the shorter side fits, bilinear and antialiased, and crop the centre."""
    channels, height, width = samples.shape
    if size is None or size == (height, width):
        return samples
    if (height, width) == (1, 1):
        raise BadInput("feature vectors cannot be resized; leave out the size.")
    covered = covering(height, width, size)
    top, left = (covered[0] - size[0]) // 2, (covered[1] - size[1]) // 2

    def resize(images: Tensor) -> Tensor:
        resized = torch.nn.functional.interpolate(images, covered, mode="bilinear", antialias=True)
        return resized[:, :, top : top + size[0], left : left + size[1]]

    images = rewrite(samples.images, resize, (channels, *size), samples.images.numpy().dtype)
    return replace(samples, images=images)
