"""A folder of images, a subfolder a class."""

import logging
import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from hideseek.data.decode import BadImage, decode
from hideseek.data.folder_index import BAD, GREY, Looks, look
from hideseek.data.in_order import in_order
from hideseek.data.labels import one_hot, unlabelled
from hideseek.data.listing import Listing, list_folder, some
from hideseek.data.store import allocate
from hideseek.errors import BadInput
from hideseek.progress import track
from hideseek.records import Samples

_THREADS = 4  # Pillow decodes without Python's lock

_log = logging.getLogger(__name__)

T = TypeVar("T")


def load_folder(path: str, size: tuple[int, int] | None, channels: int | None, labelled: bool) -> Samples:
    """Read the images of a folder; subfolders, sorted by name, are the classes.

    Files whose suffix is not that of an image are passed over, and counted in the log; so are hidden ones, uncounted.
    """
    listing = list_folder(Path(path).expanduser(), labelled)
    if len(listing.files) < 2:
        raise BadInput(f"the folder {path} holds one image only; hiding needs two or more.")
    images = torch.from_numpy(_decode_all(listing, size, channels))
    labels = one_hot(np.array(listing.ids), len(listing.classes)) if labelled else unlabelled(len(images))
    return Samples(images, labels, scale=torch.full((1, 1), 1 / 255), classes=listing.classes)


def load_files(files: Sequence[Path], size: tuple[int, int] | None, channels: int | None) -> Samples:
    """Read image files, in their order, without labels."""
    images = torch.from_numpy(_decode_all(Listing(Path(), tuple(files)), size, channels))
    return Samples(images, unlabelled(len(images)), scale=torch.full((1, 1), 1 / 255))


def image_files(folder: Path) -> list[Path]:
    """List the image files of a folder and its subfolders, in a fixed order."""
    return list(list_folder(folder, labelled=False).files)


def _decode_all(listing: Listing, size: tuple[int, int] | None, channels: int | None) -> NDArray[np.uint8]:
    """Decode every file into one array, on a few threads; files that cannot be decoded are named all at once."""
    from PIL.Image import DecompressionBombWarning

    count, threads = len(listing.files), min(_THREADS, os.cpu_count() or 1)
    with warnings.catch_warnings():
        # Pillow warns from 90 and refuses from 180 million pixels: the refusal is the limit here.
        warnings.simplefilter("ignore", DecompressionBombWarning)
        looks = look(listing, threads)
        wanted = channels or _common_channels(looks)

        def decoded(row: int) -> NDArray[np.uint8] | BadImage:
            if row in looks.faults:
                return looks.faults[row]
            return _tried(lambda: decode(listing.files[row], listing.name(row), wanted, size))

        # Shapes are compared with that of the first image that is whole.
        whole = ((row, image.shape) for row in range(count) if not isinstance(image := decoded(row), BadImage))
        first, shape = next(whole, (0, (0,)))
        images = allocate((count, *shape), np.uint8)

        def place(row: int) -> BadInput | None:
            image = decoded(row)
            if isinstance(image, BadImage):
                return image
            if image.shape != shape:
                return BadInput(_two_sizes(listing, first, row, (shape, image.shape)))
            images[row] = image
            return None

        placed = track(in_order(place, count, threads), "decoding images", count)
        faults = [fault for fault in placed if fault is not None]
    if faults:
        raise _all_of([fault for fault in faults if isinstance(fault, BadImage)]) or faults[0]
    return images.view(np.uint8)


def _tried(work: Callable[[], T]) -> T | BadImage:
    """Give what comes of work on a file, or what is wrong with the file."""
    try:
        return work()
    except BadImage as bad:
        return bad


def _common_channels(looks: Looks) -> int:
    """Give one channel if all images are grey, else three, and log if some are grey."""
    count, total = int((looks.kinds == GREY).sum()), int((looks.kinds != BAD).sum())
    if 0 < count < total:
        _log.warning("%d of %d images %s grey: all become three channels.", count, total, "is" if count == 1 else "are")
    return 1 if count == total else 3


def _all_of(bad: Sequence[BadImage]) -> BadImage | None:
    """Make one sentence of all files that cannot be used."""
    if len(bad) < 2:
        return bad[0] if bad else None
    faults = dict.fromkeys(each.fault for each in bad)
    named = "; ".join(f"{fault}: {some(each.name for each in bad if each.fault == fault)}" for fault in faults)
    return BadImage("", "", f"{len(bad):,} files cannot be used ({named}); replace them or take them out.")


def _two_sizes(listing: Listing, first: int, row: int, shapes: Sequence[tuple[int, ...]]) -> str:
    one, two = (f"{width}×{height}" for _, height, width in shapes)
    return (
        f"{listing.name(first)} has {one} pixels and {listing.name(row)} has {two}; give one size for all images,"
        " or ?side=… inside patches:."
    )
