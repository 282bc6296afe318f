import os
import tracemalloc
import warnings
import zipfile
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import psutil
import pytest
from numpy.typing import NDArray

from hideseek.data import members, store
from hideseek.data.cache import keep
from hideseek.errors import BadInput

ARRAYS: dict[str, NDArray[Any]] = {
    "bytes": np.arange(60, dtype=np.uint8).reshape(3, 4, 5),
    "fortran": np.asfortranarray(np.arange(12, dtype=np.float32).reshape(3, 4)),
    "big_endian": np.arange(6, dtype=">f8"),
    "empty": np.empty((0, 4), np.uint8),
    "names": np.array(["one", "zwölf"]),
}


@pytest.mark.parametrize("compressed", [False, True])
def test_arrays_come_back_as_numpy_wrote_them(tmp_path: Path, compressed: bool) -> None:
    path = tmp_path / "a.npz"
    (np.savez_compressed if compressed else np.savez)(path, **ARRAYS)  # type: ignore[arg-type]
    assert {key: header.shape for key, header in members.headers(path).items()} == {
        key: array.shape for key, array in ARRAYS.items()
    }
    for key, expected in ARRAYS.items():
        array = members.read(path, key)
        assert array.dtype == expected.dtype
        assert np.array_equal(array, expected)
        assert isinstance(array, np.memmap) == (not compressed and expected.size > 0)


def test_a_map_is_found_behind_extra_fields_and_other_members(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    keep(path, ARRAYS)
    with zipfile.ZipFile(path, "a") as archive:
        info = zipfile.ZipInfo("late.npy")
        info.extra = b"\x99\x99\x04\x00abcd"
        with archive.open(info, "w") as member:
            np.lib.format.write_array(member, np.arange(9))
    assert members.read(path, "late").tolist() == list(range(9))


def test_writing_to_a_map_leaves_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    keep(path, ARRAYS)
    members.read(path, "bytes")[:] = 0
    assert np.array_equal(members.read(path, "bytes"), ARRAYS["bytes"])


def test_a_large_compressed_array_is_unpacked_to_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, **ARRAYS)  # type: ignore[arg-type]
    monkeypatch.setattr(store, "MEMORY_LIMIT", 10)
    monkeypatch.setattr(members, "_PIECE", 7)
    for key in ("bytes", "fortran"):
        array = members.read(path, key)
        assert isinstance(array, np.memmap)
        assert np.array_equal(array, ARRAYS[key])


def broken(kind: str, path: Path) -> None:
    """Write a file that is wrong in one way."""
    keep(path, {"x": np.arange(1000)})
    whole = path.read_bytes()
    if kind == "text":
        path.write_text("x, y\n1, 2\n")
    elif kind == "cut":
        path.write_bytes(whole[: len(whole) // 2])
    elif kind == "short array":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("x.npy", whole[whole.index(b"\x93NUMPY") :][:600])
    elif kind == "no header":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("x.npy", b"hello")
    elif kind == "objects":
        np.savez(path, x=np.array([{}, "b"], dtype=object))
    elif kind == "flipped bit":
        np.savez_compressed(path, x=np.random.default_rng(0).integers(0, 256, 1000, np.uint8))
        damaged = bytearray(path.read_bytes())
        damaged[500] ^= 1
        path.write_bytes(damaged)
    elif kind == "folder":
        path.unlink()
        path.mkdir()
    elif kind == "missing":
        path.unlink()
    elif kind == "pipe":
        path.unlink()
        os.mkfifo(path)
    elif kind in HEADERS:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("x.npy", with_header(HEADERS[kind]) + bytes(48 if kind == "negative sides" else 0))
    elif kind == "beyond the end":
        data = with_header(f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({1 << 40},)}}")
        length = (len(data) + (1 << 40)).to_bytes(8, "little")
        with zipfile.ZipFile(path, "w") as archive, archive.open("x.npy", "w", force_zip64=True) as member:
            member.write(data)
        whole = path.read_bytes()
        start = whole.index(b"PK\x01\x02")
        forged = bytearray(whole[start:])
        extra = b"\x01\x00\x10\x00" + length + length
        forged[20:28] = b"\xff" * 8
        forged[30:32] = len(extra).to_bytes(2, "little")
        name_end = 46 + len("x.npy")
        tail = forged.index(b"PK\x05\x06")
        directory = bytes(forged[:name_end]) + extra
        end = bytearray(forged[tail:])
        end[12:16] = len(directory).to_bytes(4, "little")
        path.write_bytes(whole[:start] + directory + bytes(end))
    elif kind == "twice":
        with zipfile.ZipFile(path, "w") as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(2):
                archive.writestr("x.npy", with_header("{'descr': '|u1', 'fortran_order': False, 'shape': (0,)}"))


HEADERS = {
    "negative sides": "{'descr': '<f8', 'fortran_order': False, 'shape': (-2, -3)}",
    "no width": "{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000000000000,)}",
    "many brackets": "(" * 9000,
}


def with_header(text: str, claimed: int | None = None) -> bytes:
    """Begin an array with a header of any text, which may claim to be longer."""
    length = len(text) if claimed is None else claimed
    return b"\x93NUMPY\x02\x00" + length.to_bytes(4, "little") + text.encode()


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("text", "is not a whole .npz file"),
        ("cut", "is not a whole .npz file"),
        ("short array", "is cut short"),
        ("no header", "is damaged"),
        ("objects", "holds Python objects"),
        ("flipped bit", "is not a whole .npz file"),
        ("folder", "not a file but a folder: name a file"),
        ("pipe", "not a file but a pipe"),
        ("negative sides", "has a shape that cannot be"),
        ("no width", "has a shape that cannot be"),
        ("many brackets", "is damaged"),
        ("beyond the end", "is not a whole .npz file"),
        ("twice", "two arrays of one name"),
        ("missing", "there is no file"),
    ],
)
def test_broken_files_are_said_in_one_sentence(tmp_path: Path, kind: str, says: str) -> None:
    path = tmp_path / "a.npz"
    broken(kind, path)
    with pytest.raises(BadInput, match=says):
        members.headers(path)
        members.read(path, "x")


def test_encrypted_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    keep(path, {"x": np.arange(10)})
    marked = bytearray(path.read_bytes())
    marked[6] |= 1
    directory = marked.index(b"PK\x01\x02")
    marked[directory + 8] |= 1
    path.write_bytes(marked)
    with pytest.raises(BadInput, match="is encrypted"):
        members.headers(path)


def test_what_unpacks_to_nearly_nothing_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "_SMALL", 1 << 16)
    path = tmp_path / "a.npz"
    np.savez_compressed(path, bomb=np.zeros(1 << 20, np.uint8), small=np.zeros(1 << 15, np.uint8))
    with pytest.raises(BadInput, match=r"the array bomb in .* would unpack to 1 MB of nearly nothing"):
        members.read(path, "bomb")
    assert not members.read(path, "small").any()


def test_what_does_not_fit_into_memory_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, x=np.random.default_rng(0).random(1000))
    monkeypatch.setattr(psutil, "virtual_memory", lambda: Mock(available=5000))
    with pytest.raises(BadInput, match=r"of memory.*: write it again with numpy.savez"):
        members.read(path, "x")


def test_a_header_that_claims_to_be_long_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", with_header(" " * (1 << 25)))
    tracemalloc.start()
    try:
        with pytest.raises(BadInput, match="is damaged"):
            members.headers(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 22
    finally:
        tracemalloc.stop()


def test_a_file_of_very_many_arrays_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        for number in range(1001):
            archive.writestr(f"{number}.npy", b"")
    with pytest.raises(BadInput, match="more than 1,000 arrays"):
        members.headers(tmp_path / "a.npz")
