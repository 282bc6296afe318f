"""A folder of images, a subfolder a class."""

import os
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from hideseek.data.decode import SUFFIXES, decode, is_grey
from hideseek.data.labels import one_hot, unlabelled
from hideseek.data.store import allocate
from hideseek.errors import BadInput
from hideseek.progress import track
from hideseek.records import Samples

_THREADS = 4  # Pillow decodes without Python's lock
_KINDS = "JPEG, PNG, WebP or BMP"


@dataclass(frozen=True)
class _Listing:
    """The image files of a folder, in order, and the class of each."""

    folder: Path
    files: tuple[Path, ...]
    ids: tuple[int, ...] = ()
    classes: tuple[str, ...] = ()

    def name(self, row: int) -> str:
        file = self.files[row]
        return _readable(str(file.relative_to(self.folder) if file.is_relative_to(self.folder) else file))


def load_folder(path: str, size: tuple[int, int] | None, channels: int | None, labelled: bool) -> Samples:
    """Read the images of a folder; subfolders, sorted by name, are the classes.

    Files whose suffix is not that of an image, and hidden ones, are passed over; so are subfolders without images.
    """
    folder = Path(path).expanduser()
    try:
        if not folder.is_dir():
            raise BadInput(f"there is no folder {path}; check the path.")
        listing = _by_class(folder) if labelled else _Listing(folder, tuple(_images_in(folder)))
    except OSError as error:
        name = _readable(str(error.filename or path))
        raise BadInput(f"{name} cannot be listed ({error.strerror}); change its permissions.") from error
    if len(listing.files) < 2:
        found = "one image only" if listing.files else f"no {_KINDS} image"
        raise BadInput(f"the folder {path} holds {found}; hiding needs two or more.")
    if labelled and len(listing.classes) < 2:
        raise BadInput(
            f"the folder {path} holds the one class {listing.classes[0]!r}; sort the images into a subfolder for each"
            " of two or more classes (in Python, labelled=False does without)."
        )
    images = torch.from_numpy(_decode_all(listing, size, channels))
    labels = one_hot(np.array(listing.ids), len(listing.classes)) if labelled else unlabelled(len(images))
    return Samples(images, labels, scale=torch.full((1, 1), 1 / 255), classes=listing.classes)


def load_files(files: Sequence[Path], size: tuple[int, int] | None, channels: int | None) -> Samples:
    """Read image files, in their order, without labels."""
    images = torch.from_numpy(_decode_all(_Listing(Path(), tuple(files)), size, channels))
    return Samples(images, unlabelled(len(images)), scale=torch.full((1, 1), 1 / 255))


def image_files(folder: Path) -> list[Path]:
    """List the image files of a folder and its subfolders, in a fixed order."""
    try:
        files = list(_images_in(folder))
    except OSError as error:
        name = _readable(str(error.filename or folder))
        raise BadInput(f"{name} cannot be listed ({error.strerror}); change its permissions.") from error
    if not files:
        raise BadInput(f"the folder {folder} holds no {_KINDS} image; name another.")
    return files


def _by_class(folder: Path) -> _Listing:
    """List a folder whose subfolders are classes."""
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    found = {entry: files for entry in entries if entry.is_dir() and (files := list(_images_in(entry)))}
    loose = [entry.name for entry in entries if entry.suffix.lower() in SUFFIXES and not entry.is_dir()]
    if loose:
        raise BadInput(
            f"{_readable(loose[0])} lies directly in {_readable(str(folder))}; move every image into a subfolder"
            " named after its class (in Python, labelled=False loads it as it is)."
        )
    return _Listing(
        folder,
        tuple(file for files in found.values() for file in files),
        tuple(number for number, files in enumerate(found.values()) for _ in files),
        tuple(_readable(entry.name) for entry in found),
    )


def _images_in(folder: Path) -> Iterator[Path]:
    """Walk a folder in a fixed order and give its image files."""

    def refuse(error: OSError) -> None:
        raise error

    for where, folders, files in os.walk(folder, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(where, name)
            if not name.startswith(".") and name.lower().endswith(SUFFIXES):
                yield path


def _decode_all(listing: _Listing, size: tuple[int, int] | None, channels: int | None) -> NDArray[np.uint8]:
    """Decode every file into one array, on a few threads."""
    from PIL.Image import DecompressionBombWarning

    rows = range(len(listing.files))
    with warnings.catch_warnings(), ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1)) as pool:
        # Pillow warns from 90 and refuses from 180 million pixels: the refusal is the limit here.
        warnings.simplefilter("ignore", DecompressionBombWarning)
        seen = pool.map(lambda row: is_grey(listing.files[row], listing.name(row)), rows)
        grey = list(track(seen, "looking at images", len(rows)))
        wanted = channels or (1 if all(grey) else 3)
        first = decode(listing.files[0], listing.name(0), wanted, size)
        images = allocate((len(rows), *first.shape), np.uint8)

        def place(row: int) -> None:
            image = decode(listing.files[row], listing.name(row), wanted, size)
            if image.shape != first.shape:
                raise BadInput(_two_sizes(listing, row, first, image))
            images[row] = image

        for _ in track(pool.map(place, rows), "decoding images", len(rows)):
            pass
    return images.view(np.uint8)


def _two_sizes(listing: _Listing, row: int, first: NDArray[np.uint8], other: NDArray[np.uint8]) -> str:
    one, two = (f"{image.shape[2]}×{image.shape[1]}" for image in (first, other))
    return (
        f"{listing.name(0)} has {one} pixels and {listing.name(row)} has {two}; give one size for all images,"
        " or ?side=… inside patches:."
    )


def _readable(name: str) -> str:
    """Give a file name that can be printed, whatever bytes it is made of."""
    return os.fsencode(name).decode("utf-8", "replace")
