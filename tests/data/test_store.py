import os
from pathlib import Path

import numpy as np
import pytest
import torch

from hideseek.data import store
from hideseek.errors import BadInput


def test_small_arrays_are_memory_and_large_ones_a_nameless_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MEMORY_LIMIT", 100)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert type(store.allocate((100,), np.uint8)) is np.ndarray
    large = store.allocate((101,), np.uint8)
    assert isinstance(large, np.memmap)
    large[:] = 7
    assert (large == 7).all()
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "MEMORY_LIMIT", 100)
    monkeypatch.setattr(store, "DISK_LIMIT", 200)
    monkeypatch.setattr(os, "posix_fallocate", full)
    assert type(store.allocate((200,), np.uint8)) is np.ndarray  # memory has room for that
    with pytest.raises(BadInput, match=r"No space left on device\); set the environment variable TMPDIR"):
        store.allocate((201,), np.uint8)


def test_no_temporary_folder_is_said_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> None:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(store, "MEMORY_LIMIT", 100)
    monkeypatch.setattr(store, "DISK_LIMIT", 100)
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("tempfile.TemporaryFile", none)
    with pytest.raises(BadInput, match="the system refused it"):
        store.allocate((101,), np.uint8)


def test_rows_are_gathered_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "PIECE", 3)
    monkeypatch.setattr(store, "MEMORY_LIMIT", 30)
    stored, places = np.arange(20, dtype=np.int16).reshape(10, 2), np.array([9, 0, 0, 4, 7, 1, 2, 2])
    for each in (stored, stored[:, 0]):
        found = store.gathered(each, places)
        assert (found == each[places]).all()
        assert isinstance(found, np.memmap) == (each.ndim == 2)


def test_rewriting_goes_chunk_by_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "CHUNK", 2 * 8 * 4)  # two images of four pixels
    images = torch.arange(20, dtype=torch.uint8).reshape(5, 1, 2, 2)
    sizes = []

    def change(part: torch.Tensor) -> torch.Tensor:
        sizes.append(len(part))
        return part + 1

    assert store.rewrite(images, change, (1, 2, 2), np.uint8).equal(images + 1)
    assert sizes == [2, 2, 1]
