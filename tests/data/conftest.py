"""What the tests of data share: a cache of their own, folders of images, and the real data where it is."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import platformdirs
import pytest
from numpy.typing import NDArray
from PIL import Image

_REAL = os.environ.get("HIDESEEK_DATA")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, and no data sets of the user's."""
    folder = tmp_path / "the cache"
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda _: folder)
    monkeypatch.delenv("HIDESEEK_DATA", raising=False)
    return folder


@pytest.fixture
def real_data(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of real data sets."""
    if not _REAL:
        pytest.skip("HIDESEEK_DATA does not say where the real data sets are")
    monkeypatch.setenv("HIDESEEK_DATA", _REAL)
    return Path(_REAL)


def noise(height: int, width: int, channels: int = 3, seed: int = 0) -> NDArray[np.uint8]:
    shape = (height, width, channels) if channels > 1 else (height, width)
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


@pytest.fixture
def picture_folder(tmp_path: Path) -> Callable[..., Path]:
    """Make a folder of PNG files from {"class/file.png": (height, width, channels)}."""

    def make(files: dict[str, tuple[int, int, int]]) -> Path:
        folder = tmp_path / "pictures"
        for seed, (name, (height, width, channels)) in enumerate(files.items()):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(noise(height, width, channels, seed)).save(folder / name)
        return folder

    return make
