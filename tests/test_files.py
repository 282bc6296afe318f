"""Files are whole or not there."""

import errno
import os
import secrets
import signal
import socket
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from blake3 import blake3
from numpy.typing import NDArray
from safetensors.numpy import load_file

from hideseek.errors import BadInput
from hideseek.files import (
    clear_leftovers,
    must_be_new,
    need_memory,
    need_space,
    new_file,
    new_folder,
    own_folder,
    parsed,
    read_bytes,
    read_record,
    tensor_header,
    write_tensors,
)
from hideseek.files.leftovers import MARK


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


KILLED = textwrap.dedent("""
    import os, signal, sys
    from pathlib import Path
    from hideseek.files import new_file, new_folder

    with new_file(Path(sys.argv[1]) / "file") as file, new_folder(Path(sys.argv[1]) / "out") as partial:
        (partial / "deep").mkdir()
        (partial / "deep" / "old").write_text("x")
        (partial / "link").symlink_to(sys.argv[2])
        os.kill(os.getpid(), signal.SIGKILL)
""")


def _killed(folder: Path, elsewhere: Path) -> None:
    """Kill a process while it writes a file and a folder."""
    ended = subprocess.run([sys.executable, "-c", KILLED, folder, elsewhere], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert len(list(folder.glob(".*.partial"))) == 2


def test_what_a_killed_run_left_is_cleared_by_the_next_of_its_name(tmp_path: Path, thesis: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    _killed(place, thesis)
    with new_file(place / "other"), new_folder(place / "others"):
        pass
    assert len(list(place.glob(".*.partial"))) == 2  # not of these names
    with new_folder(place / "out") as partial:
        (partial / "new").write_text("x")
    with new_file(place / "file"):
        pass
    assert sorted(path.name for path in place.iterdir()) == ["file", "other", "others", "out"]
    assert [path.name for path in (place / "out").iterdir()] == ["new"]
    _killed(place / "deeper", thesis)
    clear_leftovers(place)
    assert [path.is_dir() for path in (place / "deeper").iterdir()] == [True]  # files alone: of any name, in any folder
    assert (thesis / "chapter").read_text() == "mine"


@pytest.fixture
def thesis(tmp_path: Path) -> Path:
    """A folder of the user's, which nobody may touch."""
    folder = tmp_path / "thesis"
    folder.mkdir()
    (folder / "chapter").write_text("mine")
    return folder


def _temporary(name: str) -> str:
    return f".{name}.{secrets.token_hex(16)}.partial"


@pytest.mark.parametrize("name", [".out.partial", f".out.{'a' * 32}.partial", ".out.lock"])
def test_no_link_is_followed_and_no_folder_of_others_is_entered(tmp_path: Path, thesis: Path, name: str) -> None:
    """As in a folder that several people may write to."""
    place = tmp_path / "place"
    place.mkdir()
    (place / name).symlink_to(thesis)
    with new_folder(place / "out") as partial:
        (partial / "file").write_text("x")
    assert (place / name).is_symlink()
    (place / name).unlink()
    thesis.rename(place / name)  # the same name, and not made here
    with new_folder(place / "second") as partial:
        (partial / "file").write_text("x")
    (place / "out" / "file").unlink()
    with new_folder(place / "out") as partial:
        (partial / "file").write_text("x")
    assert (place / name / "chapter").read_text() == "mine"


@pytest.mark.parametrize("wrong", ["open to others", "no mark", "the mark is a link", "the mark is a pipe"])
def test_a_folder_that_is_not_provably_ours_is_left_alone(tmp_path: Path, wrong: str) -> None:
    folder = tmp_path / _temporary("out")
    folder.mkdir(0o755 if wrong == "open to others" else 0o700)
    (folder / "chapter").write_text("mine")
    if wrong == "open to others":
        (folder / MARK).touch(0o600)
    elif wrong == "the mark is a link":
        (folder / MARK).symlink_to(folder / "chapter")
    elif wrong == "the mark is a pipe":
        os.mkfifo(folder / MARK)
    with new_folder(tmp_path / "out") as partial:
        (partial / "file").write_text("x")
    assert (folder / "chapter").read_text() == "mine"


@contextmanager
def other_user() -> Iterator[None]:
    """Be somebody else for a while."""
    if os.geteuid() != 0:
        pytest.skip("to be two users takes root")
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_what_another_user_put_there_is_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    place.chmod(0o1777)
    for parent in (tmp_path, *tmp_path.parents[:3]):
        parent.chmod(parent.stat().st_mode | 0o011)
    names = [_temporary("out"), _temporary("file"), "empty"]
    with other_user():
        (place / names[0]).mkdir(0o700)
        (place / names[0] / MARK).touch(0o600)
        (place / names[1]).write_text("theirs")
        (place / names[2]).mkdir()
    with new_folder(place / "out"), new_file(place / "file"):
        pass
    assert all((place / name).exists() for name in names)
    for take in (must_be_new, own_folder):
        with pytest.raises(BadInput, match="belongs to somebody else"):
            take(place / "empty")


def test_while_it_is_written_a_folder_is_closed_and_then_as_usual(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        for name, mode, wanted in (("shared", 0o777, 0o755), ("private", 0o700, 0o700)):
            with new_folder(tmp_path / name, mode) as partial:
                assert stat.S_IMODE(partial.parent.stat().st_mode) == 0o700
                with new_file(partial / "file"):
                    pass
            assert stat.S_IMODE((tmp_path / name).stat().st_mode) == wanted
            assert stat.S_IMODE((tmp_path / name / "file").stat().st_mode) == 0o644
    finally:
        os.umask(before)


def test_a_file_that_another_process_is_writing_is_left_alone(tmp_path: Path) -> None:
    with new_file(tmp_path / "file") as first:
        with new_file(tmp_path / "file") as second:
            second.write(b"second")
        first.write(b"first")
    assert (tmp_path / "file").read_bytes() == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


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


def test_nobody_elses_file_is_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the name was guessed after all, or the file itself is a link."""
    victim = tmp_path / "victim"
    victim.write_text("x")
    (tmp_path / "file").symlink_to(victim)
    with new_file(tmp_path / "file", mode=0o600) as file:
        file.write(b"secret")
    assert not (tmp_path / "file").is_symlink()
    monkeypatch.setattr("hideseek.files.writing.temporary_name", lambda _: "guessed")
    (tmp_path / "guessed").symlink_to(victim)
    with pytest.raises(BadInput, match="cannot be written"), new_file(tmp_path / "file"):
        pass
    assert victim.read_text() == "x"


def test_a_link_in_the_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(BadInput, match="is a link, and links are not followed"), new_folder(tmp_path / "link"):
        pass
    with pytest.raises(BadInput, match="is a link"):
        own_folder(tmp_path / "link")
    assert not list((tmp_path / "real").iterdir())


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
    with pytest.raises(BadInput, match=r"no room for .*: it takes 4 MB, and 1 MB are free"):
        need_space(small_disk / "a" / "b", 4_000_000)


def test_other_errors_of_the_disk_are_not_hidden(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="strange"), new_file(tmp_path / "file"):
        raise OSError(errno.EIO, "strange")


def test_a_place_that_may_not_be_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="may not be written"), new_file(tmp_path / "file"):
        raise PermissionError(errno.EACCES, "no")


def test_what_does_not_fit_is_refused_with_its_size() -> None:
    with pytest.raises(BadInput, match=r"the keys needs 1,000,000\.0 TB of memory, and .* are free: hide less\."):
        need_memory(10**18, "the keys", "hide less")


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


STRANGE: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "socket": _socket,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "folder": Path.mkdir,
}


@pytest.mark.parametrize("kind", STRANGE)
def test_what_is_no_plain_file_is_refused_at_once(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    STRANGE[kind](Path("file"))
    for read in (read_bytes, read_record):
        with pytest.raises(BadInput, match=r"file is not a file but a .*: name a file\."):
            read(Path("file"))


def test_a_file_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        file.truncate(1 << 43)  # which takes no room
    with pytest.raises(BadInput, match="of memory"):
        read_bytes(tmp_path / "file")
    with pytest.raises(BadInput, match="longer than"):
        read_record(tmp_path / "file")


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 1}', '[{"b": {"a": 1, "a": 2}}]', "NaN", "[" * 100_000, "{", "9" * 9999]
)
def test_json_that_says_something_twice_or_nothing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"twice|not a number|nested|Expecting|Exceeds"):
        parsed(text)
