"""Classes, before they are shared: what they are called, how many images each has, and which are too small."""

from dataclasses import replace
from typing import Literal

import torch

from hideseek.data.listing import some
from hideseek.data.store import pieces
from hideseek.errors import BadInput
from hideseek.records import Samples
from hideseek.report import sentences

ClassNames = Literal["names", "numbers"]
LEAST = 5  # images of a class


def check_sizes(samples: Samples, least: int) -> None:
    """Refuse classes of a few images, such as a folder for each patient: labels tell which rows hold them.

    Where patients are known, classes of a few patients.
    """
    if least < 1:
        raise BadInput(f"--least must be at least 1, not {least}.")
    what = "image" if samples.patients is None else "patient"
    small = {name: count for name, count in _records(samples).items() if 0 < count < least}
    if small:
        have = "1 class has" if len(small) == 1 else f"{len(small):,} classes have"
        raise BadInput(
            f"{have} fewer than {least} {what}s ({_listed(small, what)}), and labels would tell which rows hold them:"
            f" put them into larger classes, or allow that with --least {min(small.values())}."
        )


def described(samples: Samples, how: ClassNames) -> str:
    """Say which classes there are, and what of that is shared."""
    counts = _counts(samples)
    if not counts:
        return "There are no classes: these images are hidden without labels, and nobody can learn from them."
    if not samples.classes:
        fewest, most = min(counts.values()), max(counts.values())
        each = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
        return f"{len(counts):,} classes, which have no names, of {each} images."
    shared = "their names are shared too (--class-names numbers shares numbers)"
    if how == "numbers":
        counts = {f"{number} = {name}": count for number, (name, count) in enumerate(counts.items())}
        shared = "numbers are shared in place of their names"
    return f"{len(counts):,} classes: {_listed(counts)}; {shared}."


def without_names(samples: Samples, how: ClassNames) -> Samples:
    """Leave out the names of classes, where numbers shall be shared."""
    return replace(samples, classes=()) if how == "numbers" else samples


def _records(samples: Samples) -> dict[str, int]:
    """Count the records of each class."""
    if samples.patients is None:
        return _counts(samples)
    held = samples.labels.new_zeros(int(samples.records.max()) + 1, samples.labels.shape[1])
    held.index_add_(0, samples.records, (samples.labels > 0).float())
    return dict(zip(_counts(samples), (held > 0).sum(0).tolist(), strict=True))


def _counts(samples: Samples) -> dict[str, int]:
    """Count the images of each class; one of several classes counts for each."""
    names = samples.classes or tuple(map(str, range(samples.labels.shape[1])))
    counts = torch.stack([(samples.labels[rows] > 0).sum(0) for rows in pieces(len(samples))]).sum(0)
    return dict(zip(names, counts.tolist(), strict=True))


def _listed(counts: dict[str, int], what: str = "image") -> str:
    return some(f"{name} ({sentences.counted(count, what)})" for name, count in counts.items())
