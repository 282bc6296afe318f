"""Files are whole or not there."""

import errno
import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from blake3 import blake3
from numpy.typing import NDArray
from safetensors.numpy import load_file

from hideseek.errors import BadInput
from hideseek.files import need_space, new_file, new_folder, tensor_header, write_tensors


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of one megabyte."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting a small tmpfs needs root")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_tensors_are_read_by_the_library(tmp_path: Path) -> None:
    tensors: dict[str, NDArray[Any]] = {
        "a": np.arange(12, dtype=np.float32).reshape(3, 4),
        "b": np.arange(5, dtype=np.uint8),
        "none": np.empty((0, 3), np.int64),
    }
    digest = write_tensors(tmp_path / "t.safetensors", tensors)
    read = load_file(tmp_path / "t.safetensors")
    assert read.keys() == tensors.keys()
    for name, array in tensors.items():
        np.testing.assert_array_equal(read[name], array)
        assert read[name].dtype == array.dtype
    assert blake3((tmp_path / "t.safetensors").read_bytes()).hexdigest() == digest


def test_a_header_says_where_each_tensor_begins() -> None:
    head, starts = tensor_header({"a": ("float32", (2, 2)), "b": ("uint8", (3,))}, {"note": "x"})
    assert len(head) % 8 == 0
    assert starts == {"a": len(head), "b": len(head) + 16}


def test_a_file_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(RuntimeError), new_file(path) as file:
        file.write(b"new")
        raise RuntimeError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    with new_file(path) as file:
        file.write(b"new")
    assert path.read_text() == "new"


def test_a_private_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with new_file(tmp_path / "secret", mode=0o600):
            assert [stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()] == [0o600]
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600


def test_a_folder_that_fails_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), new_folder(tmp_path / "out") as partial:
        (partial / "half").write_text("x")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_a_folder_appears_whole_and_takes_the_place_of_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with new_folder(tmp_path / "out") as partial:
        (partial / "file").write_text("x")
        assert not any((tmp_path / "out").iterdir())
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["file"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_a_killed_run_left_is_cleared(tmp_path: Path) -> None:
    left = tmp_path / ".out.partial"
    left.mkdir()
    (left / "old").write_text("x")
    with new_folder(tmp_path / "out") as partial:
        assert not (partial / "old").exists()
        (partial / "new").write_text("x")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["new"]


def test_a_folder_with_something_in_it_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("x")
    with pytest.raises(BadInput, match="exists already"), new_folder(tmp_path / "out"):
        pass
    assert (tmp_path / "out" / "mine").read_text() == "x"


def test_two_runs_do_not_write_one_folder(tmp_path: Path) -> None:
    with new_folder(tmp_path / "out") as partial:
        (partial / "first").write_text("x")
        with pytest.raises(BadInput, match="another run"), new_folder(tmp_path / "out"):
            pass
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["first"]


def test_nobody_elses_file_is_written_to(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("x")
    (tmp_path / f".file.{os.getpid()}.partial").symlink_to(victim)
    with new_file(tmp_path / "file", mode=0o600) as file:
        file.write(b"secret")
    assert victim.read_text() == "x"
    assert not (tmp_path / "file").is_symlink()


def test_a_link_to_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with new_folder(tmp_path / "link") as partial:
        (partial / "file").write_text("x")
    assert [path.name for path in (tmp_path / "real").iterdir()] == ["file"]


def test_a_finished_run_is_not_overtaken(tmp_path: Path) -> None:
    with new_folder(tmp_path / "out") as partial:
        (partial / "file").write_text("x")
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "theirs").write_text("y")
        with pytest.raises(BadInput, match="cannot be written"), new_folder(tmp_path / "out2") as other:
            (other / "file").write_text("z")
            (tmp_path / "out2").write_text("a file in its place")
        (tmp_path / "out" / "theirs").unlink()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["file"]


def test_a_full_disk_is_one_sentence_and_nothing_is_kept(small_disk: Path) -> None:
    with pytest.raises(BadInput, match=r"disk of .* is full"), new_folder(small_disk / "out") as partial:
        write_tensors(partial / "t.safetensors", {"a": np.ones(1 << 20, np.float32)})
    assert list(small_disk.iterdir()) == []
    with pytest.raises(BadInput, match=r"4 MB are needed"):
        need_space(small_disk / "a" / "b", 4_000_000)


def test_other_errors_of_the_disk_are_not_hidden(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="strange"), new_file(tmp_path / "file"):
        raise OSError(errno.EIO, "strange")


def test_a_place_that_may_not_be_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="may not be written"), new_file(tmp_path / "file"):
        raise PermissionError(errno.EACCES, "no")
