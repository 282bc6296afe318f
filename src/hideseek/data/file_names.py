"""The names of many files in little memory: a million of them take megabytes, where paths take hundreds."""

import os
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Self, overload

TOGETHER = 1024  # names that are packed together


@lru_cache(maxsize=8)
def _unpacked(block: bytes) -> list[bytes]:
    """Give the names of a block; who goes through files in order asks for the same one again and again."""
    return zlib.decompress(block).split(b"\0")


class FileNames(Sequence[Path]):
    """Paths of files in one folder and its subfolders, in the order in which they were added.

    Names in a folder are much alike, so that they are packed into a fraction of their length.

    >>> names = FileNames(Path("scans"))
    >>> names.add(Path("scans", "sick", "1.png"))
    >>> names[0].as_posix(), names.relative(0), len(names)
    ('scans/sick/1.png', 'sick/1.png', 1)
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._blocks: list[bytes] = []
        self._starts = [0]  # the place of the first name of each block, and of the first that is not packed
        self._last: list[bytes] = []
        self._skip = len(os.fsencode(os.path.join(folder, "")))  # noqa: PTH118 (what os.walk puts before names)

    def add(self, file: Path) -> None:
        """Add a file, which lies in the folder."""
        self._last.append(os.fsencode(file)[self._skip if str(self.folder) != "." else 0 :])
        if len(self._last) == TOGETHER:
            self._pack()

    def _pack(self) -> None:
        if self._last:
            self._blocks.append(zlib.compress(b"\0".join(self._last), 1))
            self._starts.append(len(self))
            self._last = []

    @classmethod
    def joined(cls, folder: Path, parts: Iterable[Self]) -> Self:
        """Give the names of several lists of one folder, one list after another."""
        whole = cls(folder)
        for part in parts:
            part._pack()
            start = len(whole)
            whole._blocks += part._blocks
            whole._starts += [start + each for each in part._starts[1:]]
        return whole

    def relative(self, place: int) -> str:
        """Give a name as it is in the folder."""
        place = range(len(self))[place]
        block = bisect_right(self._starts, place) - 1
        names = self._last if block == len(self._blocks) else _unpacked(self._blocks[block])
        return os.fsdecode(names[place - self._starts[block]])

    def __len__(self) -> int:
        return self._starts[-1] + len(self._last)

    @overload
    def __getitem__(self, place: int) -> Path: ...
    @overload
    def __getitem__(self, place: slice) -> list[Path]: ...
    def __getitem__(self, place: int | slice) -> Path | list[Path]:
        if isinstance(place, slice):
            return [self[each] for each in range(len(self))[place]]
        return Path(self.folder, self.relative(place))
