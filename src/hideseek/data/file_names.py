"""The names of many files in little memory: a million of them take tens of megabytes, where paths take hundreds."""

import os
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self, overload


class FileNames(Sequence[Path]):
    """Paths of files in one folder and its subfolders, in the order in which they were added.

    >>> names = FileNames(Path("scans"))
    >>> names.add(Path("scans", "sick", "1.png"))
    >>> names[0].as_posix(), names.relative(0), len(names)
    ('scans/sick/1.png', 'sick/1.png', 1)
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._bytes, self._ends = bytearray(), array("q", [0])
        self._skip = len(os.fsencode(os.path.join(folder, "")))  # noqa: PTH118 (what os.walk puts before names)

    def add(self, file: Path) -> None:
        """Add a file, which lies in the folder."""
        self._bytes += os.fsencode(file)[self._skip if str(self.folder) != "." else 0 :]
        self._ends.append(len(self._bytes))

    @classmethod
    def joined(cls, folder: Path, parts: Iterable[Self]) -> Self:
        """Give the names of several lists of one folder, one list after another; the lists are emptied."""
        whole = cls(folder)
        for part in parts:
            start = len(whole._bytes)
            whole._bytes += part._bytes
            whole._ends.extend(start + end for end in part._ends[1:])
            part._bytes, part._ends = bytearray(), array("q", [0])
        return whole

    def relative(self, place: int) -> str:
        """Give a name as it is in the folder."""
        place = range(len(self))[place]
        return os.fsdecode(bytes(self._bytes[self._ends[place] : self._ends[place + 1]]))

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, place: int) -> Path: ...
    @overload
    def __getitem__(self, place: slice) -> list[Path]: ...
    def __getitem__(self, place: int | slice) -> Path | list[Path]:
        if isinstance(place, slice):
            return [self[each] for each in range(len(self))[place]]
        return Path(self.folder, self.relative(place))
