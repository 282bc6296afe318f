"""What was seen of the images of a folder, kept in the user's cache: colour, depth and shorter side of each.

To see it, every file must be opened, which takes minutes where there are a million; to see that a file is as it was
takes a look at its size and times. The index knows a file by a digest of its name, size, times and number, so it holds
no name, and nothing of an image but what was seen. A file that changed, or that is new, is looked at again, and so is
one that was written a moment before: it could change once more within the same tick of the clock.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Self

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from hideseek.data import members
from hideseek.data.cache import cache_folder, save
from hideseek.data.decode import BadImage
from hideseek.data.file_names import FileNames
from hideseek.data.in_order import in_order
from hideseek.data.listing import Listing
from hideseek.data.looks import Looks
from hideseek.data.reader import Look
from hideseek.data.store import allocate, pieces
from hideseek.errors import BadInput
from hideseek.files import new_file, own_folder
from hideseek.progress import track

GREY, DEEP = 1, 2  # bits of a kind
WORTH = 1000  # files, from which on an index is kept
MOMENT = 2_000_000_000  # nanoseconds: the coarsest times of files that are in use
_UNKNOWN = np.uint64(0)  # the stamp of a file that is not kept


@dataclass(frozen=True)
class Index:
    """Files by their stamps, in order, and what each is."""

    stamps: NDArray[np.uint64]
    kinds: NDArray[np.uint8]
    sides: NDArray[np.uint32]

    @classmethod
    def of(cls, stamps: NDArray[np.uint64], looks: Looks) -> Self:
        """Keep what was seen of files that are known again, which have a stamp."""
        ordered = allocate(stamps.shape, np.uint64)
        ordered[:] = stamps
        ordered.sort()
        kinds, sides = allocate(stamps.shape, np.uint8), allocate(stamps.shape, np.uint32)
        every = np.array([(GREY * look.grey + DEEP * look.deep, look.side) for look in looks.every] + [(0, 0)])
        for rows in pieces(len(stamps)):  # what is computed for all at once would take several times their memory
            places = np.searchsorted(ordered, stamps[rows])
            kinds[places], sides[places] = every[looks.numbers[rows]].T
        first = np.count_nonzero(ordered == _UNKNOWN)
        return cls(ordered[first:], kinds[first:], sides[first:])

    def recall(self, stamps: NDArray[np.uint64], looks: Looks) -> None:
        """Put what is known among the looks."""
        for part in pieces(len(stamps) if len(self.stamps) else 0):
            asked = stamps[part]
            places = np.searchsorted(self.stamps, asked).clip(max=len(self.stamps) - 1)
            rows = np.flatnonzero((self.stamps[places] == asked) & (asked != _UNKNOWN))
            about = self.sides[places[rows]].astype(np.uint64) << np.uint64(8) | self.kinds[places[rows]]
            few, which = np.unique(about, return_inverse=True)
            every = [Look(each >> 8, bool(each & GREY), bool(each & DEEP)) for each in few.tolist()]
            looks.put(part.start + rows, every, which)


def look(listing: Listing, threads: int) -> Looks:
    """Say of every file what is in it: from the index where the file is as it was, else from its head."""
    count, names, looks = len(listing.files), listing.files, Looks(len(listing.files))
    if count < WORTH or not listing.reader.indexed or not isinstance(names, FileNames):
        _open(listing, threads, looks)
        return looks
    path, now = index_path(listing.folder), time.time_ns()
    stamps = allocate((count,), np.uint64)
    every = in_order(lambda row: _stamp(names, row, now), count, threads)
    for row, stamp in enumerate(track(every, "comparing files", count)):
        stamps[row] = stamp
    index = _read(path)
    if index is not None:
        index.recall(stamps, looks)
    opened = _open(listing, threads, looks)
    if opened or (index is not None and len(index.stamps) > count):
        stamps[looks.numbers < 0] = _UNKNOWN
        fresh = Index.of(stamps, looks)
        if len(fresh.stamps) or not opened:
            _write(path, fresh)
    return looks


def index_path(folder: Path) -> Path:
    """Give where the index of a folder is kept."""
    name = blake3(os.fsencode(folder.absolute())).hexdigest(16)
    return cache_folder() / "folders" / f"{name}.npz"


def _open(listing: Listing, threads: int, looks: Looks) -> int:
    """Open the files of which there is no look, and say how many these were."""
    missing = int(np.count_nonzero(looks.numbers < 0))

    def seen(row: int) -> Look | BadImage:
        try:
            return listing.reader.look(listing.files[row], listing.name(row))
        except BadImage as bad:
            return bad

    def those(rows: list[int]) -> Iterator[tuple[int, Look | BadImage]]:
        return zip(rows, in_order(lambda place: seen(rows[place]), len(rows), threads), strict=True)

    opened = chain.from_iterable(those(looks.missing(part).tolist()) for part in pieces(len(looks)))

    for row, each in track(opened, "looking at images", missing):
        looks[row] = each
    return missing


def _stamp(names: FileNames, row: int, now: int) -> int:
    """Digest a file's name, size, times and number; 0: it is too new to be known again, or cannot be seen."""
    try:
        found = names[row].stat()
    except OSError:  # whoever opens it says why
        return int(_UNKNOWN)
    if max(found.st_mtime_ns, found.st_ctime_ns) > now - MOMENT:
        return int(_UNKNOWN)
    what = (names.relative(row), found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev)
    return int.from_bytes(blake3(repr(what).encode()).digest(8), "little")


def _read(path: Path) -> Index | None:
    """Read an index; a damaged one counts as none."""
    found = members.undamaged(path, "stamps", "kinds", "sides")
    if found is None:
        return None
    stamps, kinds, sides = found
    typed = stamps.dtype == np.uint64 and kinds.dtype == np.uint8 and sides.dtype == np.uint32
    if not typed or stamps.ndim != 1 or not stamps.shape == kinds.shape == sides.shape:
        return None
    right = (stamps[:-1] <= stamps[1:]).all() and (kinds <= GREY + DEEP).all() and (sides > 0).all()
    return Index(stamps, kinds, sides) if right else None


def _write(path: Path, index: Index) -> None:
    """Keep an index, which its owner alone may read; one that cannot be kept costs time, not the images."""
    with contextlib.suppress(OSError, BadInput):
        own_folder(path.parent, 0o700)
        with new_file(path, 0o600) as file:
            save(file, {"stamps": index.stamps, "kinds": index.kinds, "sides": index.sides})
