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

from hideseek.data.address import COLUMN, READERS, Address, load, parse
from hideseek.data.folder import identities, listed
from hideseek.data.label_table import NAME
from hideseek.data.labels import BadLabels
from hideseek.data.listing import Listing
from hideseek.data.named import DATASETS
from hideseek.errors import BadInput
from hideseek.progress import track

T = TypeVar("T")


def each_source(address: str, work: Callable[[NDArray[np.generic]], T], of_patient: Callable[[str], T]) -> list[T]:
    """Give what `work` makes of every image, c×h×w, in the order in which they are loaded.

    Where patients are known, they are the records: it is what `of_patient` makes of what the source calls them. Files
    are decoded upright, of their own size and number of channels; arrays are taken as they are stored.
    """
    place = parse(address)
    if place.kind == "patches":
        raise BadInput("whole images are looked at here: name the images themselves, not patches of them.")
    if place.kind in READERS:
        return _of_files(_listed(place), work, of_patient)
    stored = load(address, labelled=False).images
    return [work(image) for image in track(stored.numpy(), "looking at images", len(stored))]


def source_stamp(address: str) -> str:
    """Give what changes where images are added, removed or written anew: names, sizes and times of their files."""
    place = parse(address)
    target = Path(place.target).expanduser()
    files: Sequence[Path | None] = (target,)
    if place.kind in READERS:
        files = (*_listed(place).files, target / NAME)
    elif place.kind in DATASETS:
        files = (DATASETS[place.kind].path,)
    total = blake3(address.encode())
    for file in files:
        found = None if file is None or not file.exists() else file.stat()
        total.update(repr((file, found and (found.st_size, found.st_mtime_ns, found.st_ino))).encode())
    return total.hexdigest()


def _listed(place: Address) -> Listing:
    """List a folder in the order in which it is loaded: by class where there are classes."""
    how = Path(place.target).expanduser(), READERS[place.kind], place.options.get(COLUMN)
    path, reader, column = how
    try:
        return listed(path, True, reader, column, log=False)  # whoever loads them does
    except BadLabels:
        return listed(path, False, reader, column, log=False)


def _of_files(listing: Listing, work: Callable[[NDArray[np.generic]], T], of_patient: Callable[[str], T]) -> list[T]:
    from PIL.Image import DecompressionBombWarning

    reader, rows = listing.reader, range(len(listing.files))

    def done(row: int) -> list[T]:
        file, name = listing.files[row], listing.name(row)
        seen = reader.look(file, name)
        patient = identities(listing, [seen], row)[0]
        if patient is not None:
            return [of_patient(patient)] * seen.frames
        return [work(image) for image in reader.read(file, name, 1 if seen.grey else 3, None)]

    with warnings.catch_warnings(), ThreadPoolExecutor(min(reader.threads, os.cpu_count() or 1)) as pool:
        warnings.simplefilter("ignore", DecompressionBombWarning)
        found = list(track(pool.map(done, rows), "looking at images", len(rows)))
    return [each for several in found for each in several]
