"""What was seen of the images of a folder, kept in the user's cache: colour, depth and shorter side of each.

To see it, every file must be opened, which takes minutes where there are a million; to see that a file is as it was
takes a look at its size and times. The index knows a file by a digest of its name, size, times and number, so it holds
no name, and nothing of an image but what was seen. A file that changed, or that is new, is looked at again, and so is
one that was written a moment before: it could change once more within the same tick of the clock.
"""

import contextlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from hideseek.data import members
from hideseek.data.cache import cache_folder
from hideseek.data.decode import BadImage
from hideseek.data.file_names import FileNames
from hideseek.data.in_order import in_order
from hideseek.data.listing import Listing
from hideseek.data.reader import Look
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
    def of(cls, stamps: NDArray[np.uint64], looks: Sequence[Look | BadImage]) -> Self:
        """Keep what was seen of files that are known again."""
        kept = [
            (stamp, GREY * look.grey + DEEP * look.deep, look.side)
            for stamp, look in zip(stamps, looks, strict=True)
            if stamp != _UNKNOWN and isinstance(look, Look)
        ]
        every = np.array(kept, np.uint64).reshape(-1, 3)
        every = every[every[:, 0].argsort()]
        return cls(every[:, 0], every[:, 1].astype(np.uint8), every[:, 2].astype(np.uint32))

    def found(self, stamps: NDArray[np.uint64]) -> dict[int, Look]:
        """Give what is known, by places among the stamps."""
        if not len(self.stamps):
            return {}
        places = np.searchsorted(self.stamps, stamps).clip(max=len(self.stamps) - 1)
        rows = np.flatnonzero((self.stamps[places] == stamps) & (stamps != _UNKNOWN))
        same: dict[tuple[int, int], Look] = {}  # of a million files few differ
        known = {}
        for row, kind, side in zip(rows, self.kinds[places[rows]], self.sides[places[rows]], strict=True):
            about = (int(kind), int(side))
            known[int(row)] = same.setdefault(about, Look(about[1], bool(about[0] & GREY), bool(about[0] & DEEP)))
        return known


def look(listing: Listing, threads: int) -> list[Look | BadImage]:
    """Say of every file what is in it: from the index where the file is as it was, else from its head."""
    count, names = len(listing.files), listing.files
    if count < WORTH or not listing.reader.indexed or not isinstance(names, FileNames):
        return _opened(listing, range(count), threads)
    path, now = index_path(listing.folder), time.time_ns()
    every = in_order(lambda row: _stamp(names, row, now), count, threads)
    stamps = np.fromiter(track(every, "comparing files", count), np.uint64, count)
    index = _read(path)
    known = {} if index is None else index.found(stamps)
    missing = [row for row in range(count) if row not in known]
    opened = dict(zip(missing, _opened(listing, missing, threads), strict=True))
    looks = [known[row] if row in known else opened[row] for row in range(count)]
    fresh = Index.of(stamps, looks)
    if (missing and len(fresh.stamps)) or (index is not None and len(index.stamps) > count):
        _write(path, fresh)
    return looks


def index_path(folder: Path) -> Path:
    """Give where the index of a folder is kept."""
    name = blake3(os.fsencode(folder.absolute())).hexdigest(16)
    return cache_folder() / "folders" / f"{name}.npz"


def _opened(listing: Listing, rows: Sequence[int], threads: int) -> list[Look | BadImage]:
    """Open files, and say what is in them."""
    same: dict[Look, Look] = {}

    def seen(place: int) -> Look | BadImage:
        row = rows[place]
        try:
            return listing.reader.look(listing.files[row], listing.name(row))
        except BadImage as bad:
            return bad

    looks = track(in_order(seen, len(rows), threads), "looking at images", len(rows))
    return [each if isinstance(each, BadImage) else same.setdefault(each, each) for each in looks]


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
            np.savez(file, stamps=index.stamps, kinds=index.kinds, sides=index.sides)
