"""What was seen of many files in little memory: of a million files few differ, and each look is kept once."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from hideseek.data.decode import BadImage
from hideseek.data.reader import Look
from hideseek.data.store import allocate, pieces

_NONE = -1  # the number of a file that was not looked at, or cannot be used


class Looks:
    """What was seen of each of `count` files, four bytes a file, and what is wrong with those that cannot be used.

    >>> looks = Looks(3)
    >>> looks[0] = looks[2] = Look(28, grey=True)
    >>> looks.missing(), looks.frames, len(looks.every), len(looks)
    (array([1]), array([1, 0, 1], dtype=int32), 1, 3)
    """

    def __init__(self, count: int) -> None:
        self.numbers = allocate((count,), np.int32)
        """Which of `every` each file is; negative where there is none."""
        self.numbers[:] = _NONE
        self.every: list[Look] = []
        self.bad: dict[int, BadImage] = {}
        self._known: dict[Look, int] = {}

    def missing(self, part: slice = slice(None)) -> NDArray[np.intp]:
        """Give the places of files of which there is no look, in a part or all."""
        return np.flatnonzero(self.numbers[part] < 0) + (part.start or 0)

    @property
    def frames(self) -> NDArray[np.int32]:
        """Count the images in each file; there is none in a file that cannot be used."""
        each, frames = np.array([*(look.frames for look in self.every), 0], np.int32), allocate((len(self),), np.int32)
        for part in pieces(len(self)):
            frames[part] = each[self.numbers[part]]
        return frames

    def count(self, such: Sequence[bool]) -> int:
        """Count the files whose looks are such, of which each of `every` is one or is not."""
        each = np.array([*such, False])
        return sum(int(np.count_nonzero(each[self.numbers[part]])) for part in pieces(len(self)))

    def put(self, places: NDArray[np.intp], looks: Sequence[Look], which: NDArray[np.intp]) -> None:
        """Keep what was seen of several files: one of a few looks each."""
        self.numbers[places] = np.array([self._number(look) for look in looks], np.int32)[which]

    def _number(self, look: Look) -> int:
        number = self._known.setdefault(look, len(self.every))
        if number == len(self.every):
            self.every.append(look)
        return number

    def __setitem__(self, place: int, seen: Look | BadImage) -> None:
        if isinstance(seen, BadImage):
            self.bad[place] = seen
        else:
            self.numbers[place] = self._number(seen)

    def __iter__(self) -> Iterator[Look]:
        """Yield the looks of files that can be used."""
        return (self.every[number] for number in self.numbers if number >= 0)

    def __len__(self) -> int:
        return len(self.numbers)
