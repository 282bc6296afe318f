"""Arrays of images and labels from an .npz file."""

import logging
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray

from hideseek.data import members
from hideseek.data.labels import BadLabels, NoLabels, chosen, to_labels, unlabelled, width_of
from hideseek.data.store import allocate, chunks, fits_memory
from hideseek.errors import BadInput
from hideseek.files import amount
from hideseek.records import Samples

SPLITS = ("train", "val", "test")
_PAIRS = (("x", "y"), ("images", "labels"))  # without a split
_LARGEST = float(np.finfo(np.float32).max)
LARGEST_LABELS = 1 << 30  # bytes
REARRANGED = 1 << 30  # bytes of images whose channels come last, at most, that are copied to where they come first
_BITS = 16  # of a word
_TWELVE = 2**12 - 1  # the largest number of 12 bits, as X-rays have them

_log = logging.getLogger(__name__)


def keys_of(split: str) -> tuple[tuple[str, str], ...]:
    """Give the names under which the images and labels of a split may be stored; the last are MedMNIST's own.

    >>> keys_of("test")
    (('x_test', 'y_test'), ('test_images', 'test_labels'))
    """
    return ((f"x_{split}", f"y_{split}"), (f"{split}_images", f"{split}_labels"))


def load_npz(
    path: Path, split: str | None, labelled: bool, classes: tuple[str, ...] = (), column: str | None = None
) -> Samples:
    """Read one split of an .npz file; with no split named, the training images or the only ones.

    Where images have several labels each, n×m whole numbers as in ChestMNIST, `column` names the one to take.

    Class names are taken from an optional array of strings called `classes`. Of images in uint16, 65,535 is white, or
    the largest number of so many bits as an optional array `bits` says: 4,095 where that is 12.
    """
    found = members.headers(path)
    candidates = keys_of(split or "train") + (_PAIRS if split in (None, "train") else ())
    images_key, labels_key = next(((x, y) for x, y in candidates if x in found), ("", ""))
    have = ", ".join(found) or "none at all"
    if not images_key:
        wanted = " or ".join(x for x, _ in candidates)
        raise BadInput(f"{path} holds no array {wanted} (found: {have}); choose another split or rename its arrays.")
    if labelled and labels_key not in found:
        raise NoLabels(
            f"{path} holds no labels {labels_key} (found: {have}); add them (in Python, labelled=False does without)."
        )
    shape = found[images_key].shape
    if len(shape) < 2 or shape[0] < 2:
        raise BadInput(f"{images_key} in {path} has the shape {shape}; two or more images are needed.")
    if labelled and (not found[labels_key].shape or found[labels_key].shape[0] != shape[0]):
        raise BadLabels(f"{path} has {shape[0]} images and labels of shape {found[labels_key].shape}; match them.")
    _check_kind(found[images_key], f"{images_key} in {path}")
    names, labels = (classes or _class_names(path, found)) if labelled else (), unlabelled(shape[0])
    if labelled:  # which are small, before images are unpacked
        every = [(key, chosen(_small(path, key, found), column, f"{key} in {path}")) for key in _label_keys(found)]
        stored = dict(every)[labels_key]
        labels = to_labels(stored, f"{labels_key} in {path}", max(width_of(every), len(names)))
        if names and len(names) != labels.shape[1]:
            raise BadLabels(f"{path} has {len(names)} class names for {labels.shape[1]} classes; match them.")
    images = _images(members.read(path, images_key), f"{images_key} in {path}", _bits(path, found))
    scale = torch.full((1, 1), 1 / 255 if images.dtype == torch.uint8 else 1.0)
    return Samples(images, labels, scale, classes=names)


def counts(path: Path) -> dict[str, int]:
    """Count the images of each split from the headers alone."""
    found = members.headers(path)
    return {
        split: found[key].shape[0] for split in SPLITS for key, _ in keys_of(split) if key in found and found[key].shape
    }


def _label_keys(found: Iterable[str]) -> list[str]:
    known = {y for split in SPLITS for _, y in keys_of(split)} | {y for _, y in _PAIRS}
    return [key for key in found if key in known]


def _class_names(path: Path, found: dict[str, members.Header]) -> tuple[str, ...]:
    if "classes" not in found or found["classes"].dtype.kind != "U":
        return ()
    try:
        return tuple(str(name) for name in _small(path, "classes", found).reshape(-1))
    except ValueError:  # no letters
        raise BadInput(f"the class names in {path} are damaged; write the file again with numpy.savez.") from None


def _small(path: Path, key: str, found: dict[str, members.Header]) -> NDArray[Any]:
    """Read labels or names, unless they are as large as images."""
    size = math.prod(found[key].shape) * found[key].dtype.itemsize
    if size > LARGEST_LABELS:
        raise BadInput(f"{key} in {path} would take {amount(size)}; store one label for each image.")
    return members.read(path, key)


def _check_kind(header: members.Header, name: str) -> None:
    """Refuse, from the header alone, what are no images."""
    dimensions, whole = len(header.shape), header.dtype.kind == "u" and header.dtype.itemsize <= 2
    if header.dtype.kind != "f" and (not whole or dimensions == 2):
        raise BadInput(
            f"{name} is {dimensions}-dimensional {header.dtype}; store images as uint8 or uint16, features as floats."
        )
    _axes(header.shape, name)


def _bits(path: Path, found: dict[str, members.Header]) -> int | None:
    """Read how many bits of uint16 are used, where that is said."""
    if "bits" not in found:
        return None
    said = _small(path, "bits", found)
    if said.size != 1 or said.dtype.kind not in "iu" or not 1 <= int(said.reshape(-1)[0]) <= _BITS:
        raise BadInput(f"bits in {path} must be one whole number between 1 and {_BITS}; repair or remove it.")
    return int(said.reshape(-1)[0])


def _images(stored: NDArray[Any], name: str, bits: int | None) -> torch.Tensor:
    """Give an array of images as n×c×h×w of bytes or float32, mapped still if it can be."""
    kind = stored.dtype.kind
    arranged = _arranged(stored, name)
    if kind == "u" and stored.dtype.itemsize > 1:
        return _from_words(arranged, name, bits)
    if kind == "f":
        _check_floats(arranged, name)
        if stored.dtype != np.float32:
            return _copied(arranged, np.float32)
    if not arranged.flags.c_contiguous and fits_memory(arranged.shape, arranged.dtype, REARRANGED):
        return _copied(arranged, arranged.dtype)
    return torch.from_numpy(arranged)


def _axes(shape: tuple[int, ...], name: str) -> str:
    """Tell what the sides of an array are: nf, nhw, nhwc or nchw.

    If the last of four sides is 1 or 3 it counts the channels, else the second must be 1 or 3.
    """
    if 0 in shape:
        raise BadInput(f"{name} has the shape {shape}, so its images have no pixels; write it again.")
    if len(shape) in (2, 3):
        return "nf" if len(shape) == 2 else "nhw"
    if len(shape) == 4 and shape[3] in (1, 3):
        return "nhwc"
    if len(shape) == 4 and shape[1] in (1, 3):
        return "nchw"
    raise BadInput(f"{name} has the shape {shape}; store it as n×h×w, n×h×w×c or n×c×h×w with 1 or 3 channels.")


def _arranged(stored: NDArray[Any], name: str) -> NDArray[Any]:
    """View an array of images as n×c×h×w."""
    axes = _axes(stored.shape, name)
    if axes in ("nf", "nhw"):
        return stored[:, :, None, None] if axes == "nf" else stored[:, None]
    return stored.transpose(0, 3, 1, 2) if axes == "nhwc" else stored


def _check_floats(images: NDArray[Any], name: str) -> None:
    """Refuse values that are not finite, and bytes in disguise; normalised values may have any other range."""
    lowest, highest = math.inf, -math.inf
    for rows in chunks(len(images), math.prod(images.shape[1:]) * images.itemsize):
        low, high = float(images[rows].min()), float(images[rows].max())
        if not (abs(low) <= _LARGEST and abs(high) <= _LARGEST):  # false for NaN too
            raise BadInput(f"{name} holds values that are not finite (NaN or infinity); repair or drop those images.")
        lowest, highest = min(lowest, low), max(highest, high)
    if images.shape[2:] != (1, 1) and lowest >= 0 and 2 < highest <= 255:
        raise BadInput(f"{name} holds floats up to {highest:g}; divide them by 255, or store them as uint8.")


def _from_words(images: NDArray[Any], name: str, bits: int | None) -> torch.Tensor:
    """Divide 16-bit numbers by the largest that there can be."""
    white = 2 ** (bits or _BITS) - 1
    highest = max(int(images[rows].max()) for rows in chunks(len(images), math.prod(images.shape[1:]) * 2))
    if highest > white:
        raise BadInput(f"{name} holds {highest:,}, and {bits} bits hold {white:,} at most; correct or remove bits.")
    if bits is None and highest <= _TWELVE:
        _log.warning(
            "%s holds no number above %d and is read as 16 bits: if it is of fewer, say how many in an array bits.",
            *(name, highest),
        )
    return _copied(images, np.float32).div_(white)


def _copied(images: NDArray[Any], dtype: DTypeLike) -> torch.Tensor:
    """Copy images to where they lie one after another, as numbers of some type, chunk by chunk."""
    copy = allocate(images.shape, dtype)
    for rows in chunks(len(images), math.prod(images.shape[1:]) * images.itemsize):
        copy[rows] = images[rows]
    return torch.from_numpy(copy)
