"""What was seen of the images of a folder, kept in the user's cache: whether each is grey.

To see it, every file must be opened, which takes minutes where there are a million; to see that a file is as it was
takes a look at its size and times. The index knows a file by a digest of its name, size, times and number, so it holds
no name, and nothing of an image but whether it is grey. A file that changed, or that is new, is looked at again, and so
is one that was written a moment before: it could change once more within the same tick of the clock.
"""

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from hideseek.data import members
from hideseek.data.cache import cache_folder
from hideseek.data.decode import BadImage, is_grey
from hideseek.data.file_names import FileNames
from hideseek.data.in_order import in_order
from hideseek.data.listing import Listing
from hideseek.errors import BadInput
from hideseek.files import new_file, own_folder
from hideseek.progress import track

COLOUR, GREY, BAD = 0, 1, 2
WORTH = 1000  # files, from which on an index is kept
MOMENT = 2_000_000_000  # nanoseconds: the coarsest times of files that are in use
_UNKNOWN = np.uint64(0)  # the stamp of a file that is not kept


@dataclass(frozen=True)
class Looks:
    """What each file is, grey or in colour, and what is wrong with those that are neither."""

    kinds: NDArray[np.uint8]
    faults: dict[int, BadImage]


def look(listing: Listing, threads: int) -> Looks:
    """Tell of every image whether it is grey: from the index where the file is as it was, else from its head."""
    count = len(listing.files)
    if count < WORTH or not isinstance(names := listing.files, FileNames):
        return _opened(listing, np.arange(count), np.empty(count, np.uint8), threads)
    path, now = index_path(listing.folder), time.time_ns()
    every = in_order(lambda row: _stamp(names, row, now), count, threads)
    stamps = np.fromiter(track(every, "comparing files", count), np.uint64, count)
    known, kinds = _read(path) or (np.empty(0, np.uint64), np.empty(0, np.uint8))
    places = np.searchsorted(known, stamps).clip(max=max(0, len(known) - 1))
    found = (known[places] == stamps) & (stamps != _UNKNOWN) if len(known) else np.zeros(count, bool)
    seen = np.empty(count, np.uint8)
    seen[found] = kinds[places[found]]
    looks = _opened(listing, np.flatnonzero(~found), seen, threads)
    kept = (stamps != _UNKNOWN) & (looks.kinds != BAD)
    if (not found.all() and kept.any()) or len(known) > count:
        _write(path, stamps[kept], looks.kinds[kept])
    return looks


def index_path(folder: Path) -> Path:
    """Give where the index of a folder is kept."""
    name = blake3(os.fsencode(folder.absolute())).hexdigest(16)
    return cache_folder() / "folders" / f"{name}.npz"


def _opened(listing: Listing, rows: NDArray[np.int64], kinds: NDArray[np.uint8], threads: int) -> Looks:
    """Open these files and fill in what they are."""
    faults = {}

    def kind(place: int) -> int | BadImage:
        row = int(rows[place])
        try:
            return GREY if is_grey(listing.files[row], listing.name(row)) else COLOUR
        except BadImage as bad:
            return bad

    for row, found in zip(rows, track(in_order(kind, len(rows), threads), "looking at images", len(rows)), strict=True):
        kinds[row] = BAD if isinstance(found, BadImage) else found
        if isinstance(found, BadImage):
            faults[int(row)] = found
    return Looks(kinds, faults)


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


def _read(path: Path) -> tuple[NDArray[np.uint64], NDArray[np.uint8]] | None:
    """Read an index; a damaged one counts as none."""
    if not path.is_file():
        return None
    try:
        with members.opened(path) as archive:
            if archive.testzip() is not None:
                return None
        known, kinds = members.read(path, "stamps"), members.read(path, "kinds")
    except (BadInput, KeyError):
        return None
    right = known.dtype == np.uint64 and kinds.dtype == np.uint8 and known.ndim == 1 and known.shape == kinds.shape
    return (known, kinds) if right and bool((known[:-1] <= known[1:]).all() and (kinds <= GREY).all()) else None


def _write(path: Path, stamps: NDArray[np.uint64], kinds: NDArray[np.uint8]) -> None:
    """Keep an index, which its owner alone may read; one that cannot be kept costs time, not the images."""
    order = stamps.argsort()
    with contextlib.suppress(OSError, BadInput):
        own_folder(path.parent, 0o700)
        with new_file(path, 0o600) as file:
            np.savez(file, stamps=stamps[order], kinds=kinds[order])
