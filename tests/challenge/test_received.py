"""Rows that others saved: every way in which they are read, and what is refused in one sentence."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from hideseek.challenge.received import read_rows
from hideseek.errors import BadInput

CHANCE = np.random.default_rng(3)
ROWS = CHANCE.normal(size=(6, 3, 8, 8)).astype(np.float32)  # as GradAttack's defences give them
MIXED = CHANCE.dirichlet(np.ones(4), 6).astype(np.float32)


def test_the_authors_arrays_have_channels_last(tmp_path: Path) -> None:
    np.save(tmp_path / "encryption.npy", ROWS.transpose(0, 2, 3, 1))
    np.save(tmp_path / "label.npy", MIXED)
    read = read_rows(tmp_path / "encryption.npy", tmp_path / "label.npy")
    assert np.array_equal(read.images.numpy(), ROWS)
    assert np.array_equal(read.labels.numpy(), MIXED)


def test_gradattacks_tensors_have_channels_first(tmp_path: Path) -> None:
    np.savez(tmp_path / "batch.npz", mixed_x=ROWS, mixed_y=MIXED)
    save_file({"inputs": torch.from_numpy(ROWS), "targets": torch.from_numpy(MIXED)}, tmp_path / "batch.safetensors")
    np.savez_compressed(tmp_path / "plain.npz", ROWS, MIXED)
    for name in ("batch.npz", "batch.safetensors", "plain.npz"):
        read = read_rows(tmp_path / name)
        assert np.array_equal(read.images.numpy(), ROWS)
        assert np.array_equal(read.labels.numpy(), MIXED)


def test_the_authors_training_code_has_labels_of_k_images_and_their_weights(tmp_path: Path) -> None:
    targets, weights = CHANCE.integers(0, 4, (3, 6)), CHANCE.dirichlet(np.ones(3), 6).astype(np.float32)
    targets[0, 0] = 3  # so that all four classes are there
    np.savez(tmp_path / "a.npz", mix_inputs=ROWS, mix_targets=targets.astype(np.float32), lams=weights)
    expected = np.zeros((6, 4), np.float32)
    for row in range(6):
        for image in range(2):  # two private images; public ones have no label
            expected[row, targets[image, row]] += weights[row, image]
    assert np.allclose(read_rows(tmp_path / "a.npz", private=2).labels.numpy(), expected)


def test_classes_by_number_bytes_and_grey_rows(tmp_path: Path) -> None:
    pixels = CHANCE.integers(0, 256, (5, 8, 8), dtype=np.uint8)
    np.savez(tmp_path / "a.npz", x=pixels, y=np.array([0, 2, 1, 2, 0]))
    read = read_rows(tmp_path / "a.npz")
    assert read.images.shape == (5, 1, 8, 8)
    assert np.allclose(read.images[:, 0].numpy(), pixels / 255)
    assert read.labels.argmax(1).tolist() == [0, 2, 1, 2, 0]
    np.save(tmp_path / "b.npy", pixels)
    assert read_rows(tmp_path / "b.npy").labels.shape == (5, 0)


def test_where_channels_may_be_first_or_last_somebody_has_to_say(tmp_path: Path) -> None:
    rows = CHANCE.normal(size=(4, 3, 5, 3)).astype(np.float32)
    np.save(tmp_path / "a.npy", rows)
    with pytest.raises(BadInput, match="channels may be first or last: give --layout chw or hwc"):
        read_rows(tmp_path / "a.npy")
    assert np.array_equal(read_rows(tmp_path / "a.npy", layout="chw").images.numpy(), rows)
    assert np.array_equal(read_rows(tmp_path / "a.npy", layout="hwc").images.numpy(), rows.transpose(0, 3, 1, 2))


def _nan(rows: Any) -> Any:
    changed = rows.copy()
    changed[2, 1] = np.nan
    return changed


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "NaN": (lambda path: np.savez(path / "a.npz", inputs=_nan(ROWS)), "not finite"),
    "flat": (lambda path: np.savez(path / "a.npz", inputs=ROWS.reshape(6, -1)), "must be rows × height × width"),
    "no channels": (lambda path: np.savez(path / "a.npz", inputs=ROWS[:, :2]), "without 1 or 3 channels"),
    "no rows": (lambda path: np.savez(path / "a.npz", weights=ROWS, other=ROWS), "and no rows: save them under"),
    "other length": (
        lambda path: np.savez(path / "a.npz", inputs=ROWS, labels=MIXED[:5]),
        "has labels of 5 rows, and there are 6 rows",
    ),
    "no weights": (lambda path: np.savez(path / "a.npz", inputs=ROWS, labels=2 * MIXED), "sum to more than 1"),
    "no classes": (lambda path: np.savez(path / "a.npz", inputs=ROWS, labels=MIXED[:, 0]), "no classes by number"),
    "huge class": (
        lambda path: np.savez(path / "a.npz", inputs=ROWS, labels=np.full(6, 10**9)),
        "no classes by number",
    ),
    "deep labels": (
        lambda path: np.savez(path / "a.npz", inputs=ROWS, labels=np.zeros((6, 2, 2), np.float32)),
        "they must be rows × classes",
    ),
    "objects": (
        lambda path: np.savez(path / "a.npz", inputs=np.array([{"a": 1}], dtype=object)),
        "holds Python objects",
    ),
    "no zip": (lambda path: (path / "a.npz").write_bytes(b"PK nothing"), "is not what numpy.savez wrote"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_refused_and_why(name: str, tmp_path: Path) -> None:
    write, said = BAD[name]
    write(tmp_path)
    with pytest.raises(BadInput, match=said):
        read_rows(tmp_path / "a.npz")


def test_pickles_are_refused_unread_with_how_to_convert_them(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "touched",))

    for name in ("a.pt", "a.PTH", "a.t7", "a.pkl"):
        (tmp_path / name).write_bytes(pickle.dumps(Bomb()))
        with pytest.raises(BadInput, match=r"numpy\.save\(name, tensor\.cpu\(\)\.numpy\(\)\)"):
            read_rows(tmp_path / name)
    assert not (tmp_path / "touched").exists()


def test_other_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("rows")
    (tmp_path / "a.safetensors").write_bytes(b"\0" * 20)
    for name, said in (
        ("a.txt", "ends in .npy, .npz or .safetensors"),
        ("no.npy", "there is no file"),
        ("a.safetensors", "no whole safetensors file"),
    ):
        with pytest.raises(BadInput, match=said):
            read_rows(tmp_path / name)
    save_file({"inputs": torch.full((6, 3, 8, 8), torch.nan)}, tmp_path / "b.safetensors")
    with pytest.raises(BadInput, match="not finite"):
        read_rows(tmp_path / "b.safetensors")
    for odd in (torch.zeros(6, 3, 8, 8, dtype=torch.bool), torch.zeros(6, 3, 8, 8, dtype=torch.complex64)):
        save_file({"inputs": odd}, tmp_path / "b.safetensors")
        with pytest.raises(BadInput, match="holds numbers of the type"):
            read_rows(tmp_path / "b.safetensors")
