from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from hideseek.data import load, members, npz, store
from hideseek.errors import BadInput

IDS = np.array([0, 1, 2, 1, 0, 2])


def draw(*shape: int) -> NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)


def saved(path: Path, **arrays: NDArray[Any]) -> str:
    np.savez(path / "a.npz", **arrays)  # type: ignore[arg-type]
    return f"npz:{path}/a.npz"


@pytest.mark.parametrize(
    ("images", "labels"),
    [("x", "y"), ("images", "labels"), ("x_train", "y_train"), ("train_images", "train_labels")],
)
def test_every_pair_of_names(tmp_path: Path, images: str, labels: str) -> None:
    stored = draw(6, 9, 8)
    samples = load(saved(tmp_path, **{images: stored, labels: IDS}))
    assert np.array_equal(samples.images[:, 0].numpy(), stored)
    assert samples.labels.argmax(1).tolist() == IDS.tolist()
    assert samples.scale.item() == pytest.approx(1 / 255)


def test_splits_are_chosen_and_share_their_classes(tmp_path: Path) -> None:
    address = saved(tmp_path, x_train=draw(6, 9, 8), y_train=IDS, x_test=draw(2, 9, 8) + 1, y_test=np.array([0, 4]))
    assert load(address).labels.shape == (6, 5)
    assert load(f"{address}?split=train").labels.shape == (6, 5)
    assert load(f"{address}?split=test").labels.shape == (2, 5)
    assert npz.counts(tmp_path / "a.npz") == {"train": 6, "test": 2}
    with pytest.raises(BadInput, match=r"no array x_val or val_images \(found: x_train, y_train, x_test, y_test\)"):
        load(f"{address}?split=val")
    with pytest.raises(BadInput, match="choose one of train, val, test"):
        load(f"{address}?split=dev")


def test_class_names_may_be_stored(tmp_path: Path) -> None:
    names = np.array(["ant", "bee", "cow"])
    assert load(saved(tmp_path, x=draw(6, 9, 8), y=IDS, classes=names)).classes == ("ant", "bee", "cow")
    with pytest.raises(BadInput, match="2 class names for 3 classes"):
        load(saved(tmp_path, x=draw(6, 9, 8), y=IDS, classes=names[:2]))


def test_layouts(tmp_path: Path) -> None:
    last = draw(6, 9, 8, 3)
    for stored in (last, last.transpose(0, 3, 1, 2)):
        images = load(saved(tmp_path, x=stored, y=IDS)).images
        assert images.is_contiguous()
        assert np.array_equal(images.numpy(), last.transpose(0, 3, 1, 2))
    assert load(saved(tmp_path, x=draw(6, 3, 8, 1), y=IDS)).shape == (1, 3, 8)  # the last side decides
    features = np.random.default_rng(0).normal(size=(6, 11)).astype(np.float32)
    samples = load(saved(tmp_path, x=features, y=IDS))
    assert samples.shape == (11, 1, 1)
    assert np.array_equal(samples.pixels()[:, :, 0, 0].numpy(), features)


@pytest.mark.parametrize("dtype", ["<f4", "<f8", ">f4", "<f2"])
def test_floats_become_float32(tmp_path: Path, dtype: str) -> None:
    stored = np.random.default_rng(0).normal(size=(6, 9, 8)).astype(dtype)
    samples = load(saved(tmp_path, x=stored, y=IDS))
    assert samples.images.dtype == torch.float32
    assert np.array_equal(samples.pixels()[:, 0].numpy(), stored.astype(np.float32))


@pytest.mark.parametrize("dtype", ["<u2", ">u2"])
def test_words_are_divided_by_the_largest_that_there_can_be(
    tmp_path: Path, dtype: str, caplog: pytest.LogCaptureFixture
) -> None:
    stored = np.random.default_rng(0).integers(0, 65536, (6, 9, 8), dtype=np.uint16)
    stored[0, 0, :2] = 0, 65535
    samples = load(saved(tmp_path, x=stored.astype(dtype), y=IDS))
    assert samples.images.dtype == torch.float32
    assert np.allclose(samples.pixels()[:, 0].numpy(), stored / 65535, rtol=1e-6)
    assert samples.pixels().max() == 1
    assert caplog.messages == []


def test_words_of_twelve_bits_may_say_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stored = np.random.default_rng(0).integers(0, 4096, (6, 9, 8), dtype=np.uint16)
    stored[0, 0, 0] = 4095
    assert load(saved(tmp_path, x=stored, y=IDS, bits=np.array(12))).pixels().max() == 1
    assert caplog.messages == []
    assert load(saved(tmp_path, x=stored, y=IDS)).pixels().max() == pytest.approx(4095 / 65535)
    assert "no number above 4095 and is read as 16 bits" in caplog.text
    with pytest.raises(BadInput, match=r"holds 4,095, and 10 bits hold 1,023 at most"):
        load(saved(tmp_path, x=stored, y=IDS, bits=np.array([10])))
    for bits in (np.array(17), np.array(0), np.array([8, 8]), np.array(12.0)):
        with pytest.raises(BadInput, match="must be one whole number between 1 and 16"):
            load(saved(tmp_path, x=stored, y=IDS, bits=bits))


def test_soft_labels(tmp_path: Path) -> None:
    soft = np.random.default_rng(0).dirichlet([1, 1], 6)
    assert np.allclose(load(saved(tmp_path, x=draw(6, 9, 8), y=soft)).labels.numpy(), soft)


def test_labels_may_be_left_out_of_unlabelled_sets(tmp_path: Path) -> None:
    address = saved(tmp_path, x=draw(6, 9, 8))
    assert load(address, labelled=False).labels.shape == (6, 0)
    with pytest.raises(BadInput, match=r"no labels y \(found: x\); add them \(in Python, labelled=False"):
        load(address)


def test_stored_images_stay_on_disk_and_large_ones_are_not_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[NDArray[Any]] = []
    real = members.read

    def spy(path: Path, key: str) -> NDArray[Any]:
        read.append(real(path, key))
        return read[-1]

    monkeypatch.setattr(members, "read", spy)
    address = saved(tmp_path, x=draw(6, 3, 9, 8), y=IDS)
    assert load(address).images.data_ptr() == read[-1].ctypes.data
    address = saved(tmp_path, x=draw(6, 9, 8, 3), y=IDS)
    read.clear()
    assert load(address).images.data_ptr() != read[-1].ctypes.data
    monkeypatch.setattr(npz, "REARRANGED", 1000)
    read.clear()
    view = load(address).images
    assert view.data_ptr() == read[-1].ctypes.data
    assert not view.is_contiguous()
    assert np.array_equal(view.numpy(), draw(6, 9, 8, 3).transpose(0, 3, 1, 2))


def test_checks_reach_the_last_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "CHUNK", 100)
    stored = np.random.default_rng(0).random((6, 9, 8))
    address = saved(tmp_path, x=stored, y=IDS)
    assert np.allclose(load(address).images[:, 0].numpy(), stored)
    for value in (np.nan, np.inf, -np.inf, 1e300):
        stored[5, 8, 7] = value
        with pytest.raises(BadInput, match="not finite"):
            load(saved(tmp_path, x=stored, y=IDS))


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"x": draw(6, 9, 8), "y": IDS * 0}, "one class only"),
        ({"x": draw(6, 9, 8), "y": np.array(["a"] * 6)}, "must hold n class ids"),
        ({"x": draw(6, 9, 8), "y": IDS, "classes": np.array(["a"])}, "1 class names for"),
        ({"x": draw(6, 9, 8).astype(np.int32), "y": IDS}, "3-dimensional int32"),
        ({"x": draw(6, 9, 8, 4), "y": IDS}, "with 1 or 3 channels"),
        ({"x": draw(6, 9, 8), "y": IDS, "y_test": np.zeros((6, 2000))}, "y_test in .* would take 0 MB"),
    ],
)
def test_labels_and_headers_are_looked_at_before_images_are_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arrays: dict[str, NDArray[Any]], says: str
) -> None:
    """An image set of 11 MB may unpack to 11 GB."""
    np.savez_compressed(tmp_path / "a.npz", **arrays)  # type: ignore[arg-type]
    read: list[str] = []
    real = members.read

    def spy(path: Path, key: str) -> NDArray[Any]:
        read.append(key)
        return real(path, key)

    monkeypatch.setattr(members, "read", spy)
    monkeypatch.setattr(npz, "LARGEST_LABELS", 10_000)
    with pytest.raises(BadInput, match=says):
        load(f"npz:{tmp_path / 'a.npz'}")
    assert "x" not in read


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"pictures": draw(6, 9, 8)}, r"no array x_train or train_images or x or images \(found: pictures\)"),
        ({}, r"found: none at all"),
        ({"x": draw(6, 9, 8), "y": IDS[:5]}, r"6 images and labels of shape \(5,\)"),
        ({"x": draw(6, 9, 8), "y": np.array(3)}, r"labels of shape \(\)"),
        ({"x": draw(6, 9, 8), "y": IDS - 1}, "class id -1"),
        ({"x": draw(6, 9, 8), "y": IDS * 0}, "one class only"),
        ({"x": draw(1, 9, 8), "y": IDS[:1]}, "two or more images"),
        ({"x": draw(6), "y": IDS}, "two or more images"),
        ({"x": draw(6, 9, 8, 4), "y": IDS}, "with 1 or 3 channels"),
        ({"x": draw(6, 1, 3, 9, 8), "y": IDS}, "with 1 or 3 channels"),
        ({"x": draw(6, 9, 8).astype(np.int32), "y": IDS}, "3-dimensional int32; store images as uint8 or uint16"),
        ({"x": draw(6, 72), "y": IDS}, "2-dimensional uint8"),
        ({"x": draw(6, 9, 8).astype(np.float32), "y": IDS}, "divide them by 255"),
        ({"x": np.array([None] * 6), "y": IDS}, "holds Python objects"),
    ],
)
def test_bad_arrays_are_said_in_one_sentence(tmp_path: Path, arrays: dict[str, NDArray[Any]], says: str) -> None:
    with pytest.raises(BadInput, match=says) as caught:
        load(saved(tmp_path, **arrays))
    assert "\n" not in str(caught.value)


def test_size_and_channels_apply_to_arrays(tmp_path: Path) -> None:
    address = saved(tmp_path, x=draw(6, 9, 8), y=IDS)
    assert load(address, size=16, channels=3).shape == (3, 16, 16)
    assert load(address, size=(5, 4)).shape == (1, 5, 4)
