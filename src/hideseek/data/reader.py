"""A kind of image file: which files are of it, how one is looked at, and how its images are read."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

PROPOSED = (224, 128, 64, 32)  # sides that networks take, the largest first


@dataclass(frozen=True)
class Look:
    """What the head of a file says of the images in it."""

    side: int
    """The shorter one, in pixels."""
    grey: bool
    deep: bool = False
    """Whether there are more than 8 bits to a number, so that images are read as floats from 0 to 1."""
    frames: int = 1
    patient: str | None = field(default=None, repr=False)
    """What the file calls the patient; never shown."""
    burnt_in: bool = False
    """Whether it says that words are written into its pixels."""


@dataclass(frozen=True)
class Reader:
    """A kind of image file; whatever is wrong with a file is a `BadImage`."""

    kinds: str
    """The kinds, for a person."""
    is_one: Callable[[Path], bool]
    look: Callable[[Path, str], Look]
    read: Callable[[Path, str, int, tuple[int, int] | None], Iterator[NDArray[np.generic]]]
    """Gives each image in the file, c×h×w, of so many channels, resized if a size is given: bytes, or floats."""
    threads: int
    """How many files may be read at once."""
    indexed: bool = False
    """Whether an index may keep what was seen: no more than depth, colour and side of one image."""


def proposed_side(sides: list[int]) -> int:
    """Propose a size for images of several: one that is common, and enlarges none.

    >>> proposed_side([300, 250, 140]), proposed_side([20, 30])
    (128, 20)
    """
    return next((side for side in PROPOSED if side <= min(sides)), min(sides))
