"""Public images that are larger than rows: patches cut from them, and the images shrunk to the size of rows."""

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from hideseek.chance import Randomness
from hideseek.records import Samples


def shrunk(images: Float[Tensor, "n c h w"], shape: tuple[int, int, int]) -> Float[Tensor, "n c h2 w2"]:
    """Give images at the size of rows."""
    return images if tuple(images.shape[1:]) == shape else functional.interpolate(images, shape[1:], mode="area")


def cut(images: Samples, shape: tuple[int, int, int], chance: Randomness) -> Samples:
    """Cut a random patch from every image; images that have the size of rows stay whole."""
    _, height, width = shape
    _, whole_height, whole_width = images.shape
    if (whole_height, whole_width) == (height, width):
        return images
    tops = chance.integers(whole_height - height + 1, len(images)).tolist()
    lefts = chance.integers(whole_width - width + 1, len(images)).tolist()
    patches = [
        image[:, top : top + height, left : left + width]
        for image, top, left in zip(images.images, tops, lefts, strict=True)
    ]
    return replace(images, images=torch.stack(patches))
