"""Class ids or soft labels in, n×classes floats out."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from hideseek.data.store import allocate, pieces
from hideseek.errors import BadInput

_LARGEST = 1 << 30  # bytes of labels
_ROUNDING = 1e-6


class BadLabels(BadInput):
    """Labels cannot be used; the images can be loaded without."""


class NoLabels(BadLabels):
    """There are no labels."""


class OneClass(BadLabels):
    """All images are of one class."""


class ManyLabels(BadLabels):
    """Every image has several labels, and none was chosen."""


def unlabelled(count: int) -> Float[Tensor, "count 0"]:
    """Give the labels of images that have none."""
    return torch.zeros(count, 0)


def one_hot(ids: NDArray[Any], classes: int) -> Float[Tensor, "n classes"]:
    """Give each class id as a row with a single 1.

    >>> one_hot(np.array([1, 0]), 2)
    tensor([[0., 1.],
            [1., 0.]])
    """
    if len(ids) * classes * 4 > _LARGEST:
        raise BadLabels(
            f"labels of {len(ids):,} images in {classes:,} classes need more than 1 GiB; number the classes 0, 1, 2, …"
            " without gaps, or hide the set in parts."
        )
    labels, every = allocate((len(ids), classes), np.float32), np.arange(classes)
    for rows in pieces(len(ids)):
        labels[rows] = ids[rows, None] == every
    return torch.from_numpy(labels)


def chosen(stored: NDArray[Any], column: str | None, name: str) -> NDArray[Any]:
    """Give one column of labels of which an image has several at once, such as findings; others as they are.

    Rows are mixed with weights that sum to one, and so are labels, so that each image has one class, or shares of
    several that sum to one: of findings that come together one is taken, whose classes are its values.
    """
    several = stored.shape[1] if stored.ndim == 2 and stored.dtype.kind in "biu" else 1
    if several == 1 and column is None:
        return stored
    if several == 1:
        raise BadInput(f"{name} holds one label for each image, so that there is no column to choose; leave it out.")
    if column is None:
        raise ManyLabels(
            f"{name} holds {several} labels for each image; name one of them as the label column, 0 to {several - 1}."
        )
    if not column.isdecimal() or int(column) >= several:
        raise BadInput(f"{name} has the columns 0 to {several - 1} of labels, and not {column}.")
    return stored[:, int(column)]


def class_ids(stored: NDArray[Any], name: str) -> NDArray[Any] | None:
    """Give an array of labels as n class ids, or None if it holds soft labels."""
    if stored.dtype.kind == "f" and stored.ndim == 2 and stored.shape[1] > 1:
        return None
    flat = stored[:, 0] if stored.ndim == 2 and stored.shape[1] == 1 else stored
    if flat.dtype.kind not in "biu" or flat.ndim != 1:
        raise BadLabels(
            f"{name} must hold n class ids (integers) or n×classes soft labels (floats), not"
            f" {'×'.join(map(str, stored.shape))} of {stored.dtype}; convert it."
        )
    if len(flat) and flat.min() < 0:
        raise BadLabels(f"{name} holds the class id {flat.min()}; number the classes 0, 1, 2, …")
    return flat


def to_labels(stored: NDArray[Any], name: str, width: int) -> Float[Tensor, "n classes"]:
    """Give stored labels as floats of at least `width` columns if they are ids; refuse a set of one class."""
    ids = class_ids(stored, name)
    if ids is not None:
        if not len(ids) or ids.min() == ids.max():
            raise OneClass(
                f"{name} holds one class only; give images of two classes (in Python, labelled=False does without)."
            )
        return one_hot(ids, max(width, int(ids.max()) + 1))
    if not (np.isfinite(stored).all() and (stored >= 0).all() and (stored.sum(1) <= 1 + _ROUNDING).all()):
        raise BadLabels(f"{name} holds soft labels that are negative, not finite or sum to more than 1; repair them.")
    return torch.from_numpy(stored.astype(np.float32))


def width_of(labels: Iterable[tuple[str, NDArray[Any]]]) -> int:
    """Give the number of classes that occur in any of several arrays, so that training and test labels agree."""
    ids = [flat for name, stored in labels if (flat := class_ids(stored, name)) is not None and len(flat)]
    return max((int(flat.max()) + 1 for flat in ids), default=0)
