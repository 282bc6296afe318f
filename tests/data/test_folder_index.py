"""An index of a folder saves opening files that are as they were, and is believed in nothing else."""

import os
import stat
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from hideseek.data import folder, folder_index, load
from hideseek.data.decode import PICTURES
from hideseek.data.folder import listed
from hideseek.data.folder_index import index_path
from hideseek.data.in_order import in_order
from hideseek.data.listing import Listing
from hideseek.data.reader import Look
from hideseek.errors import BadInput

Make = Callable[[dict[str, tuple[int, int, int]]], Path]
GREY = (12, 16, 1)
FILES = {f"{kind}/{number}.png": GREY for kind in "ab" for number in range(4)}


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of files that are opened for a look; every folder is worth an index."""
    names: list[str] = []

    def spy(file: Path, name: str) -> Look:
        names.append(name)
        return PICTURES.look(file, name)

    def spied(*asked: Any) -> Listing:
        return replace(listed(*asked), reader=replace(PICTURES, look=spy))

    monkeypatch.setattr(folder, "listed", spied)
    monkeypatch.setattr(folder_index, "WORTH", 1)
    monkeypatch.setattr(folder_index, "MOMENT", -(10**12))  # files of this moment will do
    return names


def looked(folder: Path, opened: list[str]) -> list[str]:
    """Load a folder, and give the names of the files that were opened for a look."""
    opened.clear()
    load(f"folder:{folder}")
    return sorted(opened)


def test_files_that_are_as_they_were_are_not_opened_again(picture_folder: Make, opened: list[str]) -> None:
    folder = picture_folder(FILES)
    assert looked(folder, opened) == sorted(FILES)
    first = load(f"folder:{folder}")
    assert looked(folder, opened) == []
    assert load(f"folder:{folder}").images.equal(first.images)
    assert load(f"folder:{folder}").shape[0] == 1


def test_a_folder_is_known_whatever_way_it_is_named(
    picture_folder: Make, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = picture_folder(FILES)
    looked(folder, opened)
    monkeypatch.chdir(folder.parent)
    assert looked(Path(folder.name), opened) == []
    monkeypatch.chdir(folder)
    assert looked(Path(), opened) == []


def change(folder: Path, how: str) -> list[str]:
    """Change a folder, and give the names that must be looked at again."""
    path = folder / "a/1.png"
    if how == "content":  # of the same size, under the same time
        before, whole = path.stat(), bytearray(path.read_bytes())
        path.write_bytes(whole)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    if how == "time":
        os.utime(path, ns=(1, 1))
    if how == "replaced":
        other = path.with_name("new.png")
        Image.fromarray(np.zeros((12, 16, 3), np.uint8)).save(other)
        other.replace(path)
    if how == "renamed":
        path.rename(path.with_name("9.png"))
        return ["a/9.png"]
    if how == "added":
        Image.fromarray(np.zeros((12, 16), np.uint8)).save(path.with_name("0a.png"))
        return ["a/0a.png"]
    if how == "removed":
        path.unlink()
        return []
    return ["a/1.png"]


@pytest.mark.parametrize("how", ["content", "time", "replaced", "renamed", "added", "removed"])
def test_what_changed_is_looked_at_again_and_nothing_else(picture_folder: Make, opened: list[str], how: str) -> None:
    folder = picture_folder(FILES)
    looked(folder, opened)
    time.sleep(0.02)  # a tick of the file system's clock
    wanted = change(folder, how)
    assert looked(folder, opened) == wanted
    assert looked(folder, opened) == []
    assert load(f"folder:{folder}").shape[0] == (3 if how == "replaced" else 1)


def test_files_of_this_moment_are_not_kept(
    picture_folder: Make, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_index, "MOMENT", 10**12)
    folder = picture_folder(FILES)
    for _ in range(2):
        assert looked(folder, opened) == sorted(FILES)
    assert not index_path(folder).exists()


def changed(path: Path, name: str, change: Callable[[Any], Any]) -> None:
    """Change one of the arrays of an index."""
    with np.load(path) as found:
        arrays = {key: found[key] for key in found.files}
    np.savez(path, **{**arrays, name: change(arrays[name])})


def flip(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    whole[whole.index(b"NUMPY") + 130] ^= 1  # in a stamp
    path.write_bytes(whole)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:100]),
    "flipped": flip,
    "no arrays": lambda path: np.savez(path, x=np.zeros(3)),
    "types": lambda path: changed(path, "stamps", lambda stamps: stamps.astype(float)),
    "order": lambda path: changed(path, "stamps", lambda stamps: stamps[::-1].copy()),
    "kinds": lambda path: changed(path, "kinds", lambda kinds: kinds + 7),
    "sides": lambda path: changed(path, "sides", lambda sides: sides * 0),
    "lengths": lambda path: changed(path, "sides", lambda sides: sides[1:]),
}


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_index_is_none_and_is_made_again(picture_folder: Make, opened: list[str], how: str) -> None:
    folder = picture_folder(FILES)
    looked(folder, opened)
    DAMAGE[how](index_path(folder))
    assert looked(folder, opened) == sorted(FILES)
    assert looked(folder, opened) == []


def test_an_index_is_its_owners_and_holds_no_name(picture_folder: Make, opened: list[str]) -> None:
    folder = picture_folder({"a/Ada Lovelace.png": GREY, "b/Alan Turing.png": GREY})
    looked(folder, opened)
    path = index_path(folder)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert path.stat().st_size < 1000
    for secret in (b"Ada", b"Turing", folder.name.encode()):
        assert secret not in path.read_bytes()


def test_a_bad_file_is_named_every_time_and_never_kept(picture_folder: Make, opened: list[str]) -> None:
    folder = picture_folder(FILES)
    (folder / "b/7.png").write_text("no image")
    for seen in (sorted([*FILES, "b/7.png"]), ["b/7.png"]):
        opened.clear()
        with pytest.raises(BadInput, match=r"7\.png is not a whole"):
            load(f"folder:{folder}")
        assert sorted(opened) == seen


def test_a_cache_that_cannot_be_written_costs_only_time(picture_folder: Make, opened: list[str], cache: Path) -> None:
    cache.write_text("a file where the folder would be")
    folder = picture_folder(FILES)
    for _ in range(2):
        assert looked(folder, opened) == sorted(FILES)


def test_few_files_are_not_indexed(picture_folder: Make, cache: Path) -> None:
    load(f"folder:{picture_folder(FILES)}")
    assert not cache.exists()


def test_work_is_in_order_and_only_a_little_ahead() -> None:
    begun: list[int] = []

    def work(item: int) -> int:
        begun.append(item)
        return -item

    results = in_order(work, 5000, threads=2)
    assert next(results) == 0
    assert len(begun) < 1000
    assert list(results) == [-item for item in range(1, 5000)]
    assert sorted(begun) == list(range(5000))


def test_an_error_in_the_work_comes_out() -> None:
    with pytest.raises(ZeroDivisionError):
        list(in_order(lambda item: 1 // (700 - item), 5000, threads=2))
