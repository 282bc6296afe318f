"""Images without their details: blurred, or of their lowest frequencies."""

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

Images = Float[Tensor, "n c h w"]


def blurred(images: Images, width: int) -> Images:
    """Average over windows of width × width pixels, an odd number; at the border over what is inside."""
    return functional.avg_pool2d(images, width, stride=1, padding=width // 2, count_include_pad=False)


def low_frequencies(images: Images, count: int) -> Images:
    """Keep the lowest frequencies of the cosine transform in each direction: `count` of them, at most half of all."""
    rows, columns = (torch.from_numpy(_projection(side, count)).to(images.device) for side in images.shape[2:])
    return (rows @ images.double() @ columns).to(images.dtype)


def _projection(side: int, count: int) -> NDArray[np.float64]:
    """Give the matrix that projects a line of pixels on its lowest frequencies, cos(π f (x + ½) / side)."""
    kept = max(1, min(count, side // 2))
    waves = np.cos(np.pi * np.arange(kept)[:, None] * (np.arange(side) + 0.5) / side)
    waves /= np.linalg.norm(waves, axis=1, keepdims=True)
    matrix: NDArray[np.float64] = waves.T @ waves
    return matrix
