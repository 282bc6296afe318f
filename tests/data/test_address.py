from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hideseek.data import load
from hideseek.data.address import parse
from hideseek.errors import BadInput


@pytest.mark.parametrize(
    ("text", "kind", "target", "options"),
    [
        ("mnist", "mnist", "", {}),
        ("cifar10?split=test", "cifar10", "", {"split": "test"}),
        ("folder:/a b/c", "folder", "/a b/c", {}),
        ("npz:C:/x.npz?split=val", "npz", "C:/x.npz", {"split": "val"}),
        ("patches:npz:a.npz?each=3&keypoints=7", "patches", "npz:a.npz", {"each": "3", "keypoints": "7"}),
        ("npz:what?.npz?split=test", "npz", "what?.npz", {"split": "test"}),
    ],
)
def test_addresses_are_taken_apart(text: str, kind: str, target: str, options: dict[str, str]) -> None:
    address = parse(text)
    assert (address.kind, address.target, dict(address.options)) == (kind, target, options)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("minst", "did you mean mnist"),
        ("cifar", "did you mean cifar10"),
        ("floder:/a", "did you mean folder"),
        ("", "write folder:PATH, dicom:PATH, npz:PATH, patches:ADDRESS or one of mnist"),
        ("x" * 5000, "is not an address"),
        ("folder:", "is not an address"),
        ("mnist:train", "is not an address"),
        ("https://example.org/a.zip", "is not an address"),
        ("faces?spilt=test", "faces has no option 'spilt', only split"),
        ("folder:/a?split=test", "folder has no option 'split', only label-column"),
        ("faces?split=val", "faces has no split val; choose one of train, test"),
        ("patches:faces", "patches: needs a size"),
    ],
)
def test_mistakes_are_explained(text: str, says: str) -> None:
    with pytest.raises(BadInput) as caught:
        load(text)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("patches:patches:faces", "patches of patches"),
        ("patches:faces?each=many", "each must be a whole number, not 'many'"),
        ("patches:faces?every=1", "faces has no option 'every', only split, each, keypoints, side"),
        ("patches:nothing", "is not an address"),
    ],
)
def test_mistakes_about_patches_are_explained(text: str, says: str) -> None:
    with pytest.raises(BadInput) as caught:
        load(text, size=16)
    assert says in str(caught.value)


def test_a_bare_folder_gets_its_prefix(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is a folder; write folder:"):
        load(str(tmp_path))


@pytest.mark.parametrize("channels", [0, 2, 4])
def test_channels_are_one_or_three(channels: int) -> None:
    with pytest.raises(BadInput, match="channels must be 1 or 3"):
        load("faces", channels=channels)


def test_patches_take_their_options_and_leave_the_others_inside(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    images = generator.integers(0, 256, (4, 40, 40, 3), dtype=np.uint8)
    np.savez(tmp_path / "a.npz", x_test=images)
    patches = load(f"patches:npz:{tmp_path}/a.npz?split=test&each=3&keypoints=0&side=30", size=16, channels=1)
    assert patches.shape == (1, 16, 16)
    assert patches.labels.shape == (len(patches), 0)
    assert len(patches) == 12


def test_patches_of_pictures_of_many_sizes(picture_folder: Callable[..., Path]) -> None:
    folder = picture_folder({"0.png": (40, 50, 3), "1.png": (60, 33, 3)})
    with pytest.raises(BadInput, match=r"or \?side=… inside patches:"):
        load(f"patches:folder:{folder}", size=16)
    assert len(load(f"patches:folder:{folder}?side=32&keypoints=0", size=16)) == 20
