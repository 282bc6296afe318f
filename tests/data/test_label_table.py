from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from hideseek.data import load
from hideseek.data.labels import NoLabels, OneClass
from hideseek.errors import BadInput


def folder_of(path: Path, table: str | bytes, images: int = 4) -> Path:
    """Make a folder of images scans/0.png, … with a labels.csv."""
    (path / "scans").mkdir(parents=True, exist_ok=True)
    for number in range(images):
        pixels = np.random.default_rng(number).integers(0, 256, (8, 9), np.uint8)
        Image.fromarray(pixels).save(path / "scans" / f"{number}.png")
    (path / "labels.csv").write_bytes(table if isinstance(table, bytes) else table.encode())
    return path


def lines(*rows: str) -> str:
    return "\n".join(rows) + "\n"


FOUR = ("scans/3.png,10,B", "scans/0.png,9,A", "scans/1.png,10,A", "scans/2.png,9,")


def test_labels_and_patients_come_from_the_table(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    samples = load(f"folder:{folder_of(tmp_path, lines('file,label,patient', *FOUR))}")
    assert samples.classes == ("9", "10")  # numbers by their size
    assert samples.labels.argmax(1).tolist() == [0, 1, 0, 1]  # files in the order of the folder
    assert samples.records.tolist() == [0, 0, 1, 2]  # an image without a patient is a record
    assert not caplog.messages
    again = load(f"folder:{tmp_path}")
    assert samples.patients is not None
    assert again.patients is not None
    assert again.patients[0] == samples.patients[0]  # the same number in one process


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_tables_as_programs_write_them(tmp_path: Path, separator: str, start: str) -> None:
    text = lines('file,"label"', *(f"scans/{n}.png, {'yes' if n % 2 else 'no'} " for n in range(4)), "", "")
    samples = load(f"folder:{folder_of(tmp_path, start + text.replace(',', separator))}")
    assert samples.classes == ("no", "yes")
    assert samples.patients is None


def test_another_column_has_the_labels(tmp_path: Path) -> None:
    rows = [f"scans\\{n}.png,{n % 2},{'ab'[n // 2]}" for n in range(4)]
    folder_of(tmp_path, lines("file,side,finding", *rows))
    assert load(f"folder:{tmp_path}?label-column=finding").classes == ("a", "b")
    assert load(f"folder:{tmp_path}?label-column=side").classes == ("0", "1")
    with pytest.raises(BadInput, match=r"no column label \(columns: file, side, finding\); name one of these"):
        load(f"folder:{tmp_path}")
    (tmp_path / "labels.csv").unlink()
    with pytest.raises(BadInput, match="a column of labels needs a table"):
        load(f"folder:{tmp_path}?label-column=finding")


def test_a_table_without_labels_still_has_patients(tmp_path: Path) -> None:
    folder_of(tmp_path, lines("file,patient", *(f"scans/{n}.png,P{n // 2}" for n in range(4))))
    with pytest.raises(NoLabels, match="no column of labels"):
        load(f"folder:{tmp_path}")
    assert load(f"folder:{tmp_path}", labelled=False).records.tolist() == [0, 0, 1, 1]


def test_one_label_is_one_class(tmp_path: Path) -> None:
    folder_of(tmp_path, lines("file,label", *(f"scans/{n}.png,well" for n in range(4))))
    with pytest.raises(OneClass, match="the one label 'well'"):
        load(f"folder:{tmp_path}")


def test_labels_that_are_people_are_refused(tmp_path: Path) -> None:
    folder_of(tmp_path, lines("file,label,patient", *(f"scans/{n}.png,l{n // 2},P{n // 2}" for n in range(4))))
    with pytest.raises(NoLabels, match="each has the images of one patient only"):
        load(f"folder:{tmp_path}")


def test_images_that_the_table_does_not_name_are_left_out_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder_of(tmp_path, lines("file,label", "scans/1.png,a", "scans/2.png,b"))
    assert len(load(f"folder:{tmp_path}")) == 2
    (said,) = caplog.messages
    assert said == f"2 images are in the folder but not in {tmp_path / 'labels.csv'}, and left out."
    assert len(load(f"folder:{tmp_path}", labelled=False)) == 2


WRONG: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "is empty; write a first line with the columns file and label"),
    "no lines": ("file,label\n", "names no files"),
    "no column file": (lines("name,label", "scans/0.png,a"), "has no column file (columns: name, label)"),
    "no column label": (lines("file,finding", "scans/0.png,a"), "has no column label (columns: file, finding)"),
    "not there": (
        lines("file,label", "scans/0.png,a", "scans/7.png,b", "8.png,b"),
        "there are 2 files that are not in the folder (scans/7.png, 8.png)",
    ),
    "twice": (lines("file,label", "scans/0.png,a", "scans/0.png,b"), "names scans/0.png twice, with different labels"),
    "twice, patients": (
        lines("file,label,patient", "scans/0.png,a,1", "./scans/0.png,a,2"),
        "names scans/0.png twice, with different labels or patients",
    ),
    "latin-1": ("file,label\nscans/0.png,größer\n".encode("latin-1"), "is not in UTF-8; save it as CSV in UTF-8"),
    "utf-16": ("file,label\nscans/0.png,a\n".encode("utf-16"), "is not in UTF-8"),
    "outside": (lines("file,label", "scans/0.png,a", "scans/../../x.png,b"), "line 3 of"),
    "a path": (lines("file,label", "/etc/passwd,a"), "is not inside the folder"),
    "a drive": (lines("file,label", "C:\\x.png,a"), "is not inside the folder"),
    "short": (lines("file,label", "scans/0.png"), "line 2 of"),
    "no label": (lines("file,label", "scans/0.png,"), "has no label of 1 to 200 characters"),
    "a bell": (lines("file,label", "scans/0.png,a\ab"), "has no label of 1 to 200 characters"),
    "a quote": (lines("file,label", '"scans/0.png,a'), "is not a table of comma-separated values"),
    "two columns": (lines("file,label,label", "scans/0.png,a,b"), "has two columns of one name"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_wrong_with_a_table_is_one_sentence(tmp_path: Path, kind: str) -> None:
    table, says = WRONG[kind]
    folder_of(tmp_path, table)
    with pytest.raises(BadInput) as caught:
        load(f"folder:{tmp_path}", labelled=False)
    message = str(caught.value)
    assert says in message
    assert message.endswith(".")
    assert "\n" not in message


def test_a_table_may_not_be_a_pipe(tmp_path: Path) -> None:
    import os

    folder_of(tmp_path, "")
    (tmp_path / "labels.csv").unlink()
    os.mkfifo(tmp_path / "labels.csv")
    with pytest.raises(BadInput):
        load(f"folder:{tmp_path}")


def test_several_labels_of_an_npz_are_one_by_one(tmp_path: Path) -> None:
    chance = np.random.default_rng(0)
    arrays: dict[str, Any] = {
        f"{split}_{what}": value
        for split in ("train", "val", "test")
        for what, value in (
            ("images", chance.integers(0, 256, (6, 28, 28), np.uint8)),
            ("labels", np.stack([np.arange(6) % 2, np.arange(6) // 3, np.zeros(6)], 1).astype(np.uint8)),
        )
    }
    np.savez_compressed(tmp_path / "chest.npz", **arrays)
    with pytest.raises(BadInput, match="holds 3 labels for each image; name one of them as the label column, 0 to 2"):
        load(f"npz:{tmp_path / 'chest.npz'}")
    for column, expected in ((0, np.arange(6) % 2), (1, np.arange(6) // 3)):
        samples = load(f"npz:{tmp_path / 'chest.npz'}?split=test&label-column={column}")
        assert samples.labels.argmax(1).tolist() == expected.tolist()
    for wrong in ("3", "pleura"):
        with pytest.raises(BadInput, match="has the columns 0 to 2"):
            load(f"npz:{tmp_path / 'chest.npz'}?label-column={wrong}")
    assert len(load(f"npz:{tmp_path / 'chest.npz'}", labelled=False)) == 6


@pytest.mark.parametrize("shape", [(28, 28), (28, 28, 3), (64, 64), (224, 224, 3)])
def test_any_flat_set_of_medmnist(tmp_path: Path, shape: tuple[int, ...]) -> None:
    chance = np.random.default_rng(0)
    arrays: dict[str, Any] = {
        f"{split}_{what}": value
        for split in ("train", "val", "test")
        for what, value in (
            ("images", chance.integers(0, 256, (4, *shape), np.uint8)),
            ("labels", (np.arange(4) % 2).astype(np.uint8)[:, None]),
        )
    }
    np.savez_compressed(tmp_path / "any.npz", **arrays)
    samples = load(f"npz:{tmp_path / 'any.npz'}?split=val")
    assert samples.shape == ((3 if len(shape) == 3 else 1), *shape[:2])
    assert samples.labels.argmax(1).tolist() == [0, 1, 0, 1]
    with pytest.raises(BadInput, match="one label for each image"):
        load(f"npz:{tmp_path / 'any.npz'}?label-column=0")
