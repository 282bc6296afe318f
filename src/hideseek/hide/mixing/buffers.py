"""Memory that rows are written into: fresh, in huge pages where the system has them, or the caller's own.

Most of what a fresh array costs is its pages: the system hands them out one by one, when they are first touched. NumPy
asks for huge ones (Linux, from 4 MiB on), of which there are 512 times fewer, and torch does not; the threads that
write rows touch them, side by side.
"""

import math

import numpy as np
import torch
from jaxtyping import Float, Shaped
from numpy.typing import NDArray
from torch import Tensor

from hideseek.errors import BadInput
from hideseek.records import Samples

LINE = 64  # bytes of a cache line: rows that begin with one are stored past the cache (streaming.py)

Buffer = Tensor | NDArray[np.float32]


def fresh(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Shaped[Tensor, "..."]:
    """Give an array to be filled, whose pages nobody has touched yet."""
    if device.type != "cpu":
        return torch.empty(shape, dtype=dtype, device=device)
    size = math.prod(shape) * dtype.itemsize
    bytes_ = np.empty(size + LINE, np.uint8)
    start = -bytes_.ctypes.data % LINE
    return torch.from_numpy(bytes_[start : start + size]).view(dtype).view(shape)


def checked(out: Buffer, shape: tuple[int, ...], private: Samples, public: Samples | None) -> Float[Tensor, "m c h w"]:
    """Give a caller's buffer as a tensor, or say why rows cannot be written into it."""
    sides = "×".join(map(str, shape))
    if isinstance(out, np.ndarray):
        if not out.flags.writeable:
            raise BadInput("the buffer for the rows is read-only: give one that may be written to.")
        if not out.flags.c_contiguous or not out.flags.aligned:
            raise BadInput("the rows of the buffer do not lie one after another: give one that numpy.empty made.")
        fits = out.dtype == np.float32
    elif isinstance(out, Tensor):
        if not out.is_contiguous():
            raise BadInput("the rows of the buffer do not lie one after another: give one that torch.empty made.")
        if out.device != private.images.device:
            raise BadInput(f"the buffer is on {out.device}, and the images on {private.images.device}: make it there.")
        fits = out.dtype == torch.float32
    else:
        raise BadInput(f"the buffer for the rows is a {type(out).__name__}: give a torch tensor or a NumPy array.")
    if not fits or tuple(out.shape) != shape:
        raise BadInput(
            f"the buffer for the rows is {'×'.join(map(str, out.shape))} of {out.dtype}: give {sides} of float32."
        )
    rows = torch.from_numpy(out) if isinstance(out, np.ndarray) else out.detach()
    if any(_overlap(rows, images) for images in _read(private, public)):
        raise BadInput("the buffer lies where the images are, which rows would overwrite: give one of its own.")
    return rows


def _read(private: Samples, public: Samples | None) -> list[Tensor]:
    """List all that is read while rows are written, or kept beside them."""
    sets = [samples for samples in (private, public) if samples is not None]
    sets += [samples.cut_from.images for samples in sets if samples.cut_from is not None]
    return [part for samples in sets for part in (samples.images, samples.labels, samples.scale, samples.shift)]


def _overlap(one: Tensor, other: Tensor) -> bool:
    """Tell whether two tensors lie, in part, in the same memory."""
    (start, stop), (begin, end) = _range(one), _range(other)
    return one.device == other.device and start < end and begin < stop


def _range(tensor: Tensor) -> tuple[int, int]:
    """Give the addresses of a tensor's first byte and of the one after its last."""
    if not tensor.numel():
        return 0, 0
    last = sum((side - 1) * stride for side, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor.data_ptr(), tensor.data_ptr() + (last + 1) * tensor.element_size()
