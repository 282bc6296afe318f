"""Every image of an address as its source has it: before it is resized, made grey, normalised or made features."""

import os
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from hideseek.data.address import load, parse
from hideseek.data.decode import decode, is_grey
from hideseek.data.labels import BadLabels
from hideseek.data.listing import Listing, list_folder
from hideseek.data.named import DATASETS
from hideseek.errors import BadInput
from hideseek.progress import track

T = TypeVar("T")


def each_source(address: str, work: Callable[[NDArray[np.generic]], T]) -> list[T]:
    """Give what `work` makes of every image, c×h×w, in the order in which they are loaded.

    Files are decoded upright, of their own size and number of channels; arrays are taken as they are stored.
    """
    place = parse(address)
    if place.kind == "patches":
        raise BadInput("whole images are looked at here: name the images themselves, not patches of them.")
    if place.kind == "folder":
        return _of_files(_listed(Path(place.target).expanduser()), work)
    stored = load(address, labelled=False).images
    return [work(image) for image in track(stored.numpy(), "looking at images", len(stored))]


def source_stamp(address: str) -> str:
    """Give what changes where images are added, removed or written anew: names, sizes and times of their files."""
    place = parse(address)
    files: Sequence[Path | None] = (Path(place.target).expanduser(),)
    if place.kind == "folder":
        files = _listed(Path(place.target).expanduser()).files
    elif place.kind in DATASETS:
        files = (DATASETS[place.kind].path,)
    total = blake3(address.encode())
    for file in files:
        found = None if file is None or not file.exists() else file.stat()
        total.update(repr((file, found and (found.st_size, found.st_mtime_ns, found.st_ino))).encode())
    return total.hexdigest()


def _listed(folder: Path) -> Listing:
    """List a folder in the order in which it is loaded: by class where there are classes."""
    try:
        return list_folder(folder, labelled=True, log=False)  # whoever loads them does
    except BadLabels:
        return list_folder(folder, labelled=False, log=False)


def _of_files(listing: Listing, work: Callable[[NDArray[np.generic]], T]) -> list[T]:
    from PIL.Image import DecompressionBombWarning

    def done(row: int) -> T:
        file, name = listing.files[row], listing.name(row)
        return work(decode(file, name, 1 if is_grey(file, name) else 3, None))

    with warnings.catch_warnings(), ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        warnings.simplefilter("ignore", DecompressionBombWarning)
        rows = range(len(listing.files))
        return list(track(pool.map(done, rows), "looking at images", len(rows)))
