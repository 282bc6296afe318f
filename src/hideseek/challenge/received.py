"""Rows that others saved, read as they are: arrays in .npy, .npz and .safetensors files, with their labels.

The authors of InstaHide publish rows × height × width × channels; their training code and GradAttack's defences have
tensors of rows × channels × height × width, with labels that are mixed, or the labels of the images and their weights.
"""

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.challenge.arrays import LARGEST, Floats, array_in, content_of
from hideseek.errors import BadInput
from hideseek.files import need_memory
from hideseek.hide.files.release_checks import ROUNDING

Layout = Literal["hwc", "chw"]
ROWS = ("encodings", "encryption", "mixed_x", "mix_inputs", "mixed_inputs", "inputs", "images", "x", "data", "arr_0")
LABELS = ("labels", "label", "mixed_y", "mix_targets", "mixed_targets", "targets", "y", "arr_1")
WEIGHTS = ("lams", "lam")  # of the k images of every row, beside their labels: as the authors' training code has them
PICKLED = (".pt", ".pth", ".t7", ".pkl", ".pickle", ".ckpt", ".bin")
CHANNELS = (1, 3)
TYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.uint8, torch.int32, torch.int64)


@dataclass(frozen=True)
class ReceivedRows:
    """Rows as they were saved, channels first, with mixed labels: n × 0 where there are none."""

    images: Float[Tensor, "n c h w"]
    labels: Float[Tensor, "n classes"]


def read_rows(path: Path, labels: Path | None = None, layout: Layout | None = None, private: int = 0) -> ReceivedRows:
    """Read rows and their labels; of a row's images, the first `private` have labels that are mixed into it."""
    arrays = _arrays(path)
    images = _named(arrays, ROWS, path, "rows")
    rows = _channels_first(images, path, layout)
    if labels is not None:
        own = _arrays(labels, counts=True)
        return ReceivedRows(rows, _labels(own, _named(own, LABELS, labels, "labels"), len(rows), labels, private))
    known = [arrays[name] for name in LABELS if name in arrays and arrays[name] is not images]
    if not known:
        return ReceivedRows(rows, torch.zeros(len(rows), 0))
    return ReceivedRows(rows, _labels(arrays, known[0], len(rows), path, private))


def _arrays(path: Path, *, counts: bool = False) -> Mapping[str, Floats]:
    """Read the arrays of a file by their names; that of an .npy file has none."""
    kind = path.suffix.lower()
    if kind in PICKLED:
        raise BadInput(
            f"{path} may hold pickled objects, which run code when they are read: write it again, where it was made,"
            " with numpy.save(name, tensor.cpu().numpy()), or numpy.savez for rows with labels."
        )
    content = content_of(path)
    if kind == ".npz":
        return _zipped(content, path)
    if kind == ".safetensors":
        return _safetensors(content, path)
    if kind != ".npy":
        raise BadInput(f"{path} is no array: name a folder, or a file that ends in .npy, .npz or .safetensors.")
    return {"": array_in(content, path, counts=counts)}


def _zipped(content: bytes, path: Path) -> Mapping[str, Floats]:
    damaged = BadInput(f"{path} is not what numpy.savez wrote: write it again.")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [each for each in archive.infolist() if each.filename.endswith(".npy")]
            need_memory(sum(each.file_size for each in members), f"reading {path}", "use a machine with more")
            parts = {each.filename.removesuffix(".npy"): archive.read(each) for each in members}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError):
        raise damaged from None
    return {name: array_in(part, f"{name} in {path}", counts=name not in ROWS) for name, part in parts.items()}


def _safetensors(content: bytes, path: Path) -> Mapping[str, Floats]:
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        tensors = load(content)
    except (SafetensorError, ValueError, KeyError, RuntimeError):
        raise BadInput(f"{path} is no whole safetensors file: write it again.") from None
    for name, tensor in tensors.items():
        if tensor.dtype not in TYPES:
            raise BadInput(
                f"{name} in {path} holds numbers of the type {tensor.dtype}: store floats, or bytes for images."
            )
        if not bool((tensor.double().abs() < LARGEST).all()):  # false for NaN too
            raise BadInput(f"{name} in {path} holds numbers that are not finite: repair it.")
    bytes_of = {name for name, tensor in tensors.items() if tensor.dtype == torch.uint8 and name in ROWS}
    return {name: (each.float() / 255 if name in bytes_of else each.float()).numpy() for name, each in tensors.items()}


def _named(arrays: Mapping[str, Floats], names: tuple[str, ...], path: Path, what: str) -> Floats:
    """Find an array by its name, or the only one."""
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    found = [arrays[name] for name in names if name in arrays]
    if not found:
        said = ", ".join(sorted(arrays)) or "nothing"
        raise BadInput(f"{path} holds {said}, and no {what}: save them under the name {names[0]}.")
    return found[0]


def _channels_first(images: Floats, path: Path, layout: Layout | None) -> Float[Tensor, "n c h w"]:
    """Put channels before height and width; where both could be channels, that has to be said."""
    shape = images.shape
    rows = torch.from_numpy(images)
    if 0 in shape or len(shape) not in (3, 4):
        raise BadInput(f"{path} has the shape {shape}: it must be rows × height × width, with 1 or 3 channels.")
    if len(shape) == 3:
        return rows[:, None].contiguous()
    first, last = shape[1] in CHANNELS, shape[3] in CHANNELS
    if not first and not last:
        raise BadInput(f"{path} has the shape {shape}, without 1 or 3 channels: save rows × height × width × channels.")
    if first and last and layout is None:
        raise BadInput(
            f"{path} has the shape {shape}, in which channels may be first or last: give --layout chw or hwc."
        )
    if (layout == "hwc" and not last) or (layout == "chw" and not first):
        raise BadInput(f"{path} has the shape {shape}, which has no 1 or 3 channels where --layout {layout} has them.")
    chosen = layout or ("chw" if first else "hwc")
    return (rows if chosen == "chw" else rows.permute(0, 3, 1, 2)).contiguous()


def _labels(
    arrays: Mapping[str, Floats], labels: Floats, rows: int, path: Path, private: int
) -> Float[Tensor, "n classes"]:
    """Give mixed labels: as they are, of classes by number, or of the images in a row with their weights."""
    weights = next((arrays[name] for name in WEIGHTS if name in arrays), None)
    if weights is not None and labels.shape == weights.T.shape and len(weights) == rows:
        count = min(private or len(labels), len(labels))
        parts = [_one_hot(each, path, int(labels.max()) + 1) for each in labels[:count]]
        return sum(torch.from_numpy(weights[:, place, None]) * part for place, part in enumerate(parts))  # type: ignore[return-value] # of one part at least
    if len(labels) != rows:
        raise BadInput(
            f"{path} has labels of {len(labels):,} rows, and there are {rows:,} rows: save those of these rows."
        )
    if labels.ndim == 1:
        return _one_hot(labels, path, int(labels.max(initial=0)) + 1)
    if labels.ndim != 2:
        raise BadInput(f"{path} has labels of the shape {labels.shape}: they must be rows × classes.")
    if labels.size and (labels.min() < 0 or labels.sum(1).max() > 1 + ROUNDING):
        raise BadInput(f"{path} holds labels that are negative or sum to more than 1: they must be weights.")
    return torch.from_numpy(labels)


def _one_hot(classes: Floats, path: Path, count: int) -> Float[Tensor, "n classes"]:
    """Give classes by their numbers as labels."""
    if (classes != np.floor(classes)).any() or classes.min(initial=0) < 0 or count > len(classes) + 1000:
        raise BadInput(f"{path} holds labels that are no classes by number, from 0: save mixed labels, rows × classes.")
    return torch.nn.functional.one_hot(torch.from_numpy(classes).long(), count).float()
