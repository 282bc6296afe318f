"""Writing files so that nothing half-done is ever taken for whole: a temporary name first, the real one at the end."""

import errno
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from blake3 import blake3
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from hideseek.errors import BadInput

PIECE = 1 << 20
NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL  # no file, link or pipe that someone else put there
_NAMES = {"float32": "F32", "uint8": "U8", "int64": "I64"}  # safetensors' names of the types that we write


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn a full disk or a forbidden place into one sentence."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise BadInput(
                f"the disk of {path} is full: free some space or write to another disk; what was unfinished is gone."
            ) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise BadInput(f"{path} may not be written: choose another place or change its permissions.") from error
        if error.errno in (errno.ENOTDIR, errno.EEXIST, errno.ENOTEMPTY, errno.ENAMETOOLONG, errno.EISDIR):
            raise BadInput(f"{path} cannot be written ({error.strerror}): choose another name or place.") from error
        raise


def partial_folder(folder: Path) -> Path:
    """Give the hidden folder that a folder is while it is being written."""
    return folder.with_name(f".{folder.name}.partial")


def need_space(path: Path, size: int) -> None:
    """Refuse to start what cannot fit onto the disk."""
    place = next(p for p in (path, *path.absolute().parents) if p.exists())
    if shutil.disk_usage(place).free < size:
        raise BadInput(
            f"the disk of {path} is full, {size / 1e6:,.0f} MB are needed: free some space or write to another disk."
        )


def must_be_new(folder: Path) -> None:
    """Refuse to write where something is already; an empty folder will do."""
    with explained(folder):
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise BadInput(f"{folder} exists already: choose another folder or remove it first.")


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Give a hidden folder to write into; it becomes `folder` when all went well and is removed when not.

    A run that was killed leaves the hidden folder behind; the next run with the same name clears it away.
    """
    folder = folder.resolve()
    partial = partial_folder(folder)
    must_be_new(folder)
    with explained(folder):
        partial.mkdir(parents=True, exist_ok=True)
    lock = FileLock(partial / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise BadInput(f"another run is writing {folder}: wait for it or choose another folder.") from None
    try:
        for left in partial.iterdir():
            if left.name != "lock":
                left.unlink()
        with explained(folder):
            yield partial
            partial.rename(folder)  # with the lock in it, and held: no other run may take the place of a finished one
            (folder / "lock").unlink(missing_ok=True)
    except BaseException:  # an interrupt too
        shutil.rmtree(partial, ignore_errors=True)
        raise
    finally:
        lock.release()


@contextmanager
def new_file(path: Path, mode: int = 0o644) -> Iterator[BinaryIO]:
    """Open a temporary file; it becomes `path`, replacing what was there, when all went well."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            partial.unlink(missing_ok=True)
            with os.fdopen(os.open(partial, NEW, mode), "w+b") as file:
                partial.chmod(mode)  # whatever the umask says
                yield file
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)


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
