"""The arrays inside an .npz file, mapped where they lie if they are stored as they are."""

import io
import lzma
import math
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from hideseek.data.store import allocate
from hideseek.errors import BadInput
from hideseek.files import amount, check_plain, need_memory

_LOCAL_HEADER = 30  # bytes before the name of a zip member
_PIECE = 1 << 24  # bytes that are unpacked at a time
_HEAD = 1 << 14  # bytes that hold the header of an array: numpy refuses longer ones
_MOST = 1000  # arrays in a file
_LARGEST_SIDE = 1 << 48
_SMALL = 1 << 28  # bytes that may be unpacked from however few
_TIMES = 500  # that an array may be larger than what it is packed in: no images are, but bombs are


_UNPARSED = (
    *(ValueError, KeyError, TypeError, SyntaxError, RecursionError, MemoryError, OverflowError),
    tokenize.TokenError,  # of numpy's way to read headers of Python 2
)


@dataclass(frozen=True)
class Header:
    """What an .npy header says, and where its numbers begin after it."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran: bool
    length: int


@contextmanager
def opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open an .npz file; whatever is wrong with it becomes one sentence."""
    try:
        check_plain(path)
        with zipfile.ZipFile(path) as archive:
            yield archive
    except FileNotFoundError as error:
        raise BadInput(f"there is no file {path}; check the path.") from error
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, ValueError) as error:
        raise BadInput(f"{path} is not a whole .npz file ({error}); write it again with numpy.savez.") from error
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror}); check that it is a file you may read.") from error


def headers(path: Path) -> dict[str, Header]:
    """Read what arrays an .npz file holds, without reading them."""
    with opened(path) as archive:
        found: dict[str, Header] = {}
        if len(archive.infolist()) > _MOST:
            raise BadInput(f"{path} holds more than {_MOST:,} arrays; keep images and labels alone.")
        for info in archive.infolist():
            if info.filename.removesuffix(".npy") in found:
                raise BadInput(f"{path} holds two arrays of one name; write it again with numpy.savez.")
            if info.filename.endswith(".npy"):
                with _member(path, archive, info.filename) as stream:
                    found[info.filename.removesuffix(".npy")] = _header(path, stream, info)
        return found


def read(path: Path, key: str) -> NDArray[Any]:
    """Give one array: a private map of the file if the member is stored uncompressed, else unpacked into memory.

    A map is not checked against the zip's checksum, since that would read all of it.
    """
    with opened(path) as archive:
        info = archive.getinfo(f"{key}.npy")
        with _member(path, archive, info.filename) as stream:
            header = _header(path, stream, info)
            if info.compress_type == zipfile.ZIP_STORED and 0 not in header.shape:
                start = _data_start(path, info) + header.length
                order: Any = "F" if header.fortran else "C"
                # Copy on write, because torch warns of maps that it may not write to; nothing here writes.
                return np.memmap(path, header.dtype, "c", start, header.shape, order)
            _check_size(path, key, info)
            stream.seek(header.length)
            return _unpack(stream, header)


def undamaged(path: Path, *keys: str) -> list[NDArray[Any]] | None:
    """Give arrays of a file that we keep for later, which is read whole; one that is missing or damaged is None."""
    if not path.is_file():
        return None
    try:
        with opened(path) as archive:
            if archive.testzip() is not None:
                return None
        return [read(path, key) for key in keys]
    except (BadInput, KeyError):
        return None


@contextmanager
def _member(path: Path, archive: zipfile.ZipFile, name: str) -> Iterator[IO[bytes]]:
    try:
        with archive.open(name) as stream:
            yield stream
    except RuntimeError as error:  # what zipfile raises for a password
        raise BadInput(f"{path} is encrypted; write it again with numpy.savez.") from error


def _check_size(path: Path, key: str, info: zipfile.ZipInfo) -> None:
    """Refuse, before a byte of it is unpacked, what would fill the memory, or was made to."""
    size = info.file_size
    if size > max(_SMALL, _TIMES * info.compress_size):
        raise BadInput(f"the array {key} in {path} would unpack to {amount(size)} of nearly nothing; do not use it.")
    need_memory(size, f"unpacking the array {key} in {path}", "write it again with numpy.savez, which packs nothing")


def _header(path: Path, stream: IO[bytes], info: zipfile.ZipInfo) -> Header:
    """Parse the header of one member and check that it promises as many numbers as there are."""
    key = info.filename.removesuffix(".npy")
    head = io.BytesIO(stream.read(_HEAD))  # a header may claim to be of any length, and be unpacked to it
    try:
        version = np.lib.format.read_magic(head)
        parse = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
        shape, fortran, dtype = parse(head)
    except _UNPARSED as error:
        raise BadInput(f"the array {key} in {path} is damaged; write the file again with numpy.savez.") from error
    if dtype.hasobject:
        raise BadInput(f"the array {key} in {path} holds Python objects; store plain numbers of one shape.")
    if not all(0 <= side <= _LARGEST_SIDE for side in shape) or len(shape) > 8 or not dtype.itemsize:
        raise BadInput(f"the array {key} in {path} has a shape that cannot be; write the file again with numpy.savez.")
    header = Header(shape, dtype, fortran, head.tell())
    if header.length + math.prod(shape) * dtype.itemsize != info.file_size:
        raise BadInput(f"the array {key} in {path} is cut short; write the file again with numpy.savez.")
    return header


def _data_start(path: Path, info: zipfile.ZipInfo) -> int:
    """Find where a member's bytes begin: after a local header whose name and extra field have their own lengths."""
    with path.open("rb") as file:
        file.seek(info.header_offset)
        local = file.read(_LOCAL_HEADER)
    name, extra = int.from_bytes(local[26:28], "little"), int.from_bytes(local[28:30], "little")
    return info.header_offset + _LOCAL_HEADER + name + extra


def _unpack(stream: IO[bytes], header: Header) -> NDArray[Any]:
    """Read a compressed member piece by piece; its checksum is compared at the end."""
    shape = header.shape[::-1] if header.fortran else header.shape
    out = allocate(shape, header.dtype)
    target = out.reshape(-1).view(np.uint8)
    filled = 0
    while piece := stream.read(_PIECE):
        target[filled : filled + len(piece)] = np.frombuffer(piece, np.uint8)
        filled += len(piece)
    return out.T if header.fortran else out
