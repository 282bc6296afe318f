"""Arrays in .npy files, as strangers send them: plain numbers of a stated shape, never pickles."""

import io
import math
import tokenize
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hideseek.errors import BadInput
from hideseek.files import new_file, read_bytes

HEAD = 1 << 14  # bytes that hold the header of an array
SIDES = 8  # of an array, at most
LARGEST = 1e30  # products of more would not be finite
Floats = NDArray[np.float32]


def read_array(path: Path) -> Floats:
    """Read an array of finite numbers as float32; what is no such array is one sentence."""
    return array_in(content_of(path), path)


def content_of(path: Path) -> bytes:
    """Read a file whole."""
    try:
        return read_bytes(path)
    except FileNotFoundError:
        raise BadInput(f"there is no file {path}: check the path.") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror}): change its permissions.") from None


def array_in(content: bytes, path: Path | str, *, counts: bool = False) -> Floats:
    """Read an array from the bytes of an .npy file; whole numbers are read as they are where they may be `counts`."""
    head = io.BytesIO(content[:HEAD])
    try:
        version = np.lib.format.read_magic(head)
        parse = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
        shape, fortran, dtype = parse(head)
    except (ValueError, KeyError, TypeError, SyntaxError, RecursionError, OverflowError, tokenize.TokenError):
        raise BadInput(f"{path} is not an array that numpy.save wrote: write it again.") from None
    if dtype.hasobject:
        raise BadInput(f"{path} holds Python objects, which could run anything: store plain numbers.")
    whole = counts and dtype.kind in "iub" and dtype.itemsize <= 8
    if not whole and (dtype.kind not in "fu" or dtype.itemsize > 8 or (dtype.kind == "u" and dtype.itemsize > 1)):
        raise BadInput(f"{path} holds numbers of the type {dtype}: store floats, or bytes for images.")
    if len(shape) > SIDES or any(side < 0 for side in shape):
        raise BadInput(f"{path} has a shape that cannot be: write it again.")
    if head.tell() + math.prod(shape) * dtype.itemsize != len(content):
        raise BadInput(f"{path} does not hold as many numbers as its header says: write it again.")
    flat = np.frombuffer(content, dtype, offset=head.tell())
    values = flat.reshape(shape, order="F" if fortran else "C")
    if dtype.kind == "u" and not counts:
        return values.astype(np.float32) / np.float32(255)
    if values.size and not (np.abs(values).max() < LARGEST):  # false for NaN too
        raise BadInput(f"{path} holds numbers that are not finite: repair it.")
    return np.array(values, np.float32, order="C")


def write_array(path: Path, array: Floats) -> None:
    """Write an array as numpy.save does, whole or not at all."""
    with new_file(path) as file:
        np.lib.format.write_array(file, np.ascontiguousarray(array, np.float32), version=(1, 0), allow_pickle=False)
