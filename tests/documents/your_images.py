"""What the README's reader has: folders of X-rays and of photographs, and small copies of the named sets."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from skimage.data import astronaut, coffee, rocket

from dicom_files import header, scan, write
from hideseek.data import load

CLASSES = ("normal", "pneumonia")
EACH = {"xrays": 10, "new-xrays": 5}  # images of a class
SIDE = 64
PHOTOGRAPHS = 24
NAMED = {"cifar10": (10, 32), "cifar100": (100, 32), "tinyimagenet": (200, 64)}  # classes and side
TRAIN, TEST = 60, 20  # images of a named set


def write_images(folder: Path) -> None:
    """Write `xrays/` and `new-xrays/`, a subfolder a class, `photographs/`, `xray.png`, and `archive/` of DICOM files.

    Faces and their backgrounds stand in for X-rays of two kinds.
    """
    faces = load("faces")
    ids = faces.labels.argmax(1)
    first = 0
    for name, each in EACH.items():
        for number, kind in enumerate(CLASSES):
            for place, row in enumerate((ids == number).nonzero()[first : first + each, 0].tolist()):
                _write(folder / name / kind / f"{place}.png", faces.pixels(slice(row, row + 1))[0, 0].numpy(), SIDE)
        first += each
    _write(folder / "xray.png", faces.pixels(slice(0, 1))[0, 0].numpy(), SIDE)
    rows = []
    for place in range(24):
        name = f"patient{place // 2}/{place}.dcm"
        write(folder / "archive" / name, header(scan(place, SIDE), f"{place // 2}", BitsStored=12, HighBit=11))
        rows.append(f"{name},{CLASSES[place // 2 % 2]}")
    (folder / "archive" / "labels.csv").write_text("\n".join(["file,finding", *rows]))
    for place, photograph in enumerate(_pieces(2 * SIDE)[:PHOTOGRAPHS]):
        _write(folder / "photographs" / f"{place}.jpg", photograph / 255, 2 * SIDE)


def write_named(folder: Path) -> None:
    """Write named sets, of pieces of photographs, some images each."""
    folder.mkdir()
    for name, (classes, side) in NAMED.items():
        x, y = _pieces(side)[: TRAIN + TEST], np.arange(TRAIN + TEST) % classes
        np.savez(folder / f"{name}.npz", x_train=x[:TRAIN], y_train=y[:TRAIN], x_test=x[TRAIN:], y_test=y[TRAIN:])


def _pieces(side: int) -> NDArray[np.uint8]:
    """Cut photographs into squares."""
    return np.stack(
        [
            picture[top : top + side, left : left + side]
            for picture in (astronaut(), coffee(), rocket())
            for top in range(0, picture.shape[0] - side + 1, side)
            for left in range(0, picture.shape[1] - side + 1, side)
        ]
    )


def _write(path: Path, pixels: NDArray[np.floating], side: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray((pixels * 255).round().astype(np.uint8)).resize((side, side)).save(path)
