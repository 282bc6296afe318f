"""What a secret on disk must be like, whoever wrote it: a wrong index would spoil every figure that is judged by it."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from hideseek.hide.files.release_checks import constants
from hideseek.records import Samples

TENSORS = ("private_images", "private_labels", "private_scale", "private_shift", "sources", "public_sources", "weights")
OPTIONAL = ("mask", "transforms", "cut_from")
PATIENTS = "private_patients"


def checked_private(tensors: Mapping[str, Tensor], about: Any) -> Samples:
    """Build the private images of a secret; what cannot be is a ValueError."""
    _must(set(about) == {"classes", "normalisation"} and set(about["normalisation"]) == {"kind", "mean", "std"})
    _must({*TENSORS} <= {*tensors} <= {*TENSORS, *OPTIONAL, PATIENTS})
    classes = about["classes"]
    _must(isinstance(classes, list) and all(isinstance(name, str) for name in classes))
    images, labels, scale, shift = (tensors[name] for name in TENSORS[:4])
    _must(images.ndim == 4 and images.numel() > 0 and scale.ndim == shift.ndim == 2)
    for tensor in (labels, scale, shift):
        _must(tensor.dtype == torch.float32 and bool(tensor.isfinite().all()))
    _must(images.dtype == torch.uint8 or bool(images.isfinite().all()))
    normalisation = constants(about["normalisation"], images.shape[1])
    patients = checked_patients(tensors, len(images))
    return Samples(images, labels, scale, shift, tuple(classes), normalisation, patients=patients)


def checked_patients(tensors: Mapping[str, Tensor], images: int) -> Tensor | None:
    """Give whose image each is, where that is known; what cannot be is a ValueError."""
    patients = tensors.get(PATIENTS)
    _must(patients is None or (patients.dtype == torch.int64 and patients.shape == (images,)))
    return patients


def checked_keys(tensors: Mapping[str, Tensor], private: Samples) -> dict[str, Tensor | None]:
    """Give how the rows were made; what cannot be, for these private images, is a ValueError."""
    keys = {name: tensors.get(name) for name in (*TENSORS[4:], *OPTIONAL)}
    sources, public, weights = (tensors[name] for name in TENSORS[4:])
    _must(sources.ndim == public.ndim == weights.ndim == 2 and sources.numel() > 0)
    rows, together, channels, height, width = len(sources), sources.shape[1] + public.shape[1], *private.shape
    wanted = {
        "sources": (torch.int64, sources.shape),
        "public_sources": (torch.int64, (rows, public.shape[1])),
        "weights": (torch.float32, (rows, together)),
        "mask": (torch.uint8, (rows, channels, (height * width + 7) // 8)),
        "transforms": (torch.float32, (rows, together, 2, 3)),
        "cut_from": (torch.int64, (len(tensors.get("cut_from", ())),)),
    }
    for name, tensor in ((name, tensor) for name, tensor in keys.items() if tensor is not None):
        kind, shape = wanted[name]
        _must(tensor.dtype == kind and tensor.shape == tuple(shape))
        _must(not tensor.is_floating_point() or bool(tensor.isfinite().all()))
    _must(bool(((sources >= 0) & (sources < len(private))).all()) and bool((public >= 0).all()))
    cut_from = keys["cut_from"]
    _must(cut_from is None or (bool((cut_from >= 0).all()) and bool((public < len(cut_from)).all())))
    return keys


def _must(holds: bool) -> None:
    if not holds:
        raise ValueError
