"""Room for large arrays: memory as long as they fit there, then a file that has no name."""

import math
import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, overload

import numpy as np
import torch
from jaxtyping import Shaped
from numpy.typing import DTypeLike, NDArray
from torch import Tensor

from hideseek.errors import BadInput

S = TypeVar("S", bound=np.generic)

MEMORY_LIMIT = 3 << 20  # bytes; a larger array lives on disk
DISK_LIMIT = 1 << 26  # bytes; a larger array lives there or nowhere
CHUNK = 1 << 25  # bytes that are worked on at a time
PIECE = 1 << 15  # rows of a few numbers that are worked on at a time


def fits_memory(shape: tuple[int, ...], dtype: DTypeLike, limit: int | None = None) -> bool:
    """Tell whether an array is small enough to be held in memory."""
    return math.prod(shape) * np.dtype(dtype).itemsize <= (MEMORY_LIMIT if limit is None else limit)


@overload
def allocate(shape: tuple[int, ...], dtype: type[S]) -> NDArray[S]: ...
@overload
def allocate(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[np.generic]: ...
def allocate(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Give an array to be filled; over the memory limit it is a map of an unlinked temporary file.

    The file has no name and its owner's mode, so that no copy of private images, or of who is mixed with whom, stays
    behind, however the process ends. Where memory is short, the system writes its pages out and takes them back. Where
    the disk has no room, what is not large stays in memory.
    """
    if fits_memory(shape, dtype):
        return np.empty(shape, dtype)
    size = math.prod(shape) * np.dtype(dtype).itemsize
    try:
        with tempfile.TemporaryFile() as file:
            if hasattr(os, "posix_fallocate"):  # a full disk is found here, not by a bus error later
                os.posix_fallocate(file.fileno(), 0, size)
            return np.memmap(file, dtype, "w+", shape=shape)
    except OSError as error:
        if fits_memory(shape, dtype, DISK_LIMIT):
            return np.empty(shape, dtype)
        raise BadInput(
            f"arrays need {size / 2**30:.1f} GiB of temporary space and {tempfile.tempdir or 'the system'} refused it"
            f" ({error.strerror}); set the environment variable TMPDIR to a larger disk."
        ) from error


def chunks(count: int, each: int) -> Iterator[slice]:
    """Cut `count` rows of `each` bytes into slices of some 32 MiB.

    >>> list(chunks(5, 1 << 24))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    rows = max(1, CHUNK // max(1, each))
    for start in range(0, count, rows):
        yield slice(start, min(start + rows, count))


def pieces(count: int) -> Iterator[slice]:
    """Cut `count` rows of a few numbers into slices, so that what is computed on the way stays small.

    >>> list(pieces(40_000))
    [slice(0, 32768, None), slice(32768, 40000, None)]
    """
    for start in range(0, count, PIECE):
        yield slice(start, min(start + PIECE, count))


def gathered(stored: NDArray[S], places: NDArray[np.int64]) -> NDArray[S]:
    """Give some rows of an array, in whatever order, as an array of its own."""
    found = allocate((len(places), *stored.shape[1:]), stored.dtype).view(stored.dtype)
    for rows in pieces(len(places)):
        found[rows] = stored[places[rows]]
    return found


def rewrite(
    images: Shaped[Tensor, "n c1 h1 w1"],
    change: Callable[[Tensor], Tensor],
    shape: tuple[int, int, int],
    dtype: DTypeLike,
) -> Shaped[Tensor, "n c h w"]:
    """Put `change(images)` into a new array, chunk by chunk, so that memory stays bounded."""
    out = torch.from_numpy(allocate((len(images), *shape), dtype))
    largest = max(math.prod(shape), math.prod(images.shape[1:])) * 8
    for rows in chunks(len(images), largest):
        out[rows] = change(images[rows])
    return out
