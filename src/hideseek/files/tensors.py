"""Safetensors files that grow piece by piece."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from hideseek.files.writing import new_file

PIECE = 1 << 20
# safetensors' names of the types that we write
_NAMES = {"float32": "F32", "float16": "F16", "uint8": "U8", "int8": "I8", "int64": "I64"}


def content(array: NDArray[Any]) -> memoryview:
    """Give the bytes of an array, without a copy where they lie in order."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def tensor_header(
    shapes: Mapping[str, tuple[str, tuple[int, ...]]], about: Mapping[str, str] | None = None
) -> tuple[bytes, dict[str, int]]:
    """Give the head of a safetensors file, and where in the file each tensor begins.

    The library writes whole files from memory; this lets them grow piece by piece. It is read by the library.
    """
    places: dict[str, Any] = {"__metadata__": dict(about)} if about else {}
    end, starts = 0, {}
    for name, (dtype, shape) in shapes.items():
        starts[name] = end
        end += int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        places[name] = {"dtype": _NAMES[dtype], "shape": list(shape), "data_offsets": [starts[name], end]}
    head = json.dumps(places, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    first = 8 + len(head)
    return len(head).to_bytes(8, "little") + head, {name: first + start for name, start in starts.items()}


def write_tensors(path: Path, tensors: Mapping[str, NDArray[Any]]) -> str:
    """Write a safetensors file and return its BLAKE3 checksum, computed on the way."""
    head, _ = tensor_header({name: (str(array.dtype), array.shape) for name, array in tensors.items()})
    digest = blake3(head)
    with new_file(path) as file:
        file.write(head)
        for array in tensors.values():
            view = content(array)
            for start in range(0, len(view), PIECE):  # hashed and written while it is in the cache
                digest.update(view[start : start + PIECE])
                file.write(view[start : start + PIECE])
    return digest.hexdigest()
