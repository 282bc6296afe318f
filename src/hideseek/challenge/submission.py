"""What is handed in: decryption.npy, one image for every row of the challenge."""

from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.challenge.arrays import read_array, write_array
from hideseek.errors import BadInput

ROUNDING = 1e-5  # by which pixels may lie outside of their range


def write_decryption(path: Path, images: Float[Tensor, "rows c h w"]) -> None:
    """Write what was recovered of each row, rows × height × width × channels, of [0, 1]."""
    write_array(path, images.permute(0, 2, 3, 1).numpy())


def read_decryption(path: Path, rows: int, shape: tuple[int, int, int]) -> Float[Tensor, "rows c h w"]:
    """Read what somebody recovered; floats must be of [0, 1], bytes may be of 0 … 255."""
    images = read_array(path)
    channels, height, width = shape
    if images.shape != (rows, height, width, channels):
        raise BadInput(
            f"{path} has the shape {images.shape}: the challenge asks for {(rows, height, width, channels)}."
        )
    if images.min() < -ROUNDING or images.max() > 1 + ROUNDING:
        raise BadInput(f"{path} holds pixels outside of [0, 1]: scale its images to that range.")
    return torch.from_numpy(images).permute(0, 3, 1, 2).contiguous()
