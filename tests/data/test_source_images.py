"""Images as their source has them, whatever is made of them afterwards."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from hideseek.data import load
from hideseek.data.source_images import each_source, source_stamp
from hideseek.errors import BadInput
from hideseek.hide.privacy.ledger_key import LedgerKey


def nobody(patient: str) -> NDArray[np.generic]:
    raise AssertionError("these images are of nobody")


SHAPES = {"b/0.png": (12, 16, 3), "a/1.png": (20, 16, 3), "a/0.png": (12, 16, 1)}


def test_files_keep_their_sizes_and_channels_and_come_as_they_are_loaded(
    picture_folder: Callable[..., Path], caplog: pytest.LogCaptureFixture
) -> None:
    folder = picture_folder(SHAPES)
    (folder / "a" / "notes.txt").write_text("x")
    found = each_source(f"folder:{folder}", lambda image: image, nobody)
    assert [image.shape for image in found] == [(1, 12, 16), (3, 20, 16), (3, 12, 16)]
    assert not caplog.records, "whoever loads the images says what is passed over"
    for image, name in zip(found, ("a/0.png", "a/1.png", "b/0.png"), strict=True):
        wanted = np.asarray(Image.open(folder / name))
        assert np.array_equal(image, wanted.reshape(*wanted.shape[:2], -1).transpose(2, 0, 1))


def test_folders_without_classes(picture_folder: Callable[..., Path]) -> None:
    folder = picture_folder({"0.png": (12, 16, 3), "1.png": (12, 16, 3)})
    assert len(each_source(f"folder:{folder}", lambda image: image, nobody)) == 2


def test_arrays_are_as_they_are_stored(tmp_path: Path) -> None:
    images = np.random.default_rng(0).random((3, 8, 8), np.float32)
    np.savez(tmp_path / "some.npz", x=images, y=np.arange(3))
    address = f"npz:{tmp_path / 'some.npz'}"
    assert np.array_equal(np.stack(each_source(address, lambda image: image, nobody)), images[:, None])
    assert np.array_equal(np.stack(each_source("faces", lambda image: image, nobody)), load("faces").images.numpy())


def test_patches_are_refused() -> None:
    with pytest.raises(BadInput, match="not patches"):
        each_source("patches:faces", lambda image: image, nobody)


def test_a_stamp_changes_with_the_files(picture_folder: Callable[..., Path], tmp_path: Path) -> None:
    folder = picture_folder(SHAPES)
    address = f"folder:{folder}"
    before = source_stamp(address)
    assert source_stamp(address) == before
    os.utime(folder / "b" / "0.png", ns=(1, 1))
    changed = source_stamp(address)
    assert changed != before
    (folder / "b" / "0.png").rename(folder / "b" / "9.png")
    assert source_stamp(address) != changed
    assert source_stamp("faces") == source_stamp("faces") != source_stamp("photos")


def test_sixteen_bits_are_the_same_image_in_a_file_and_in_an_array(tmp_path: Path) -> None:
    deep = np.random.default_rng(0).integers(0, 65536, (2, 9, 8), np.uint16)
    for number, image in enumerate(deep):
        Image.fromarray(image).save(tmp_path / f"{number}.png")
    np.savez(tmp_path / "x.npz", x=deep, y=np.arange(2))
    key = LedgerKey(b"k" * 32)
    files = each_source(f"folder:{tmp_path}", key.image, key.patient)
    assert files == each_source(f"npz:{tmp_path / 'x.npz'}", key.image, key.patient)
    assert len(set(files)) == 2
