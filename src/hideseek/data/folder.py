"""Image files of a folder, with their classes and patients."""

import logging
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from hideseek.data.decode import PICTURES, BadImage
from hideseek.data.folder_index import look
from hideseek.data.in_order import in_order
from hideseek.data.labels import NoLabels, one_hot, unlabelled
from hideseek.data.listing import Listing, list_folder, readable, some
from hideseek.data.looks import Looks
from hideseek.data.patients import check_classes, numbered
from hideseek.data.reader import Look, Reader, proposed_side
from hideseek.data.store import allocate
from hideseek.errors import BadInput
from hideseek.progress import track
from hideseek.records import Samples

_log = logging.getLogger(__name__)

T = TypeVar("T")


def load_folder(
    path: str,
    size: tuple[int, int] | None,
    channels: int | None,
    labelled: bool,
    reader: Reader = PICTURES,
    column: str | None = None,
) -> Samples:
    """Read the images of a folder, or of a file of several; classes are subfolders, sorted by name, or in a labels.csv.

    Files of other kinds are passed over, and counted in the log; so are hidden ones, uncounted. Images of 16 bits make
    the set one of floats from 0 to 1. Whose images they are comes from the labels.csv, or from the files.
    """
    listing = listed(Path(path).expanduser(), labelled, reader, column)
    images, seen = _decode_all(listing, size, channels)
    if len(images) < 2:
        raise BadInput(f"{readable(path)} holds one image only; hiding needs two or more.")
    patients = _patients(listing, seen, path, labelled)
    _warn_of_words(seen)
    ids = _ids(listing, seen, len(images)) if labelled else None
    labels = unlabelled(len(images)) if ids is None else one_hot(ids, len(listing.classes))
    return Samples(images, labels, scale=_scale(images), classes=listing.classes, patients=patients)


def load_named(
    places: Sequence[Path], size: tuple[int, int] | None, channels: int | None, reader: Reader = PICTURES
) -> tuple[Samples, list[str]]:
    """Read image files in their order, or those of one folder, without labels; name every image by its file."""
    one = places[0]
    found = Listing(Path(), tuple(places), reader=reader)
    if len(places) == 1 and one.is_dir():
        found = list_folder(one, labelled=False, reader=reader)
    images, seen = _decode_all(found, size, channels)
    names = [
        f"{file}, frame {frame}" if frames > 1 else str(file)
        for file, frames in zip(found.files, seen.frames.tolist(), strict=True)
        for frame in range(1, frames + 1)
    ]
    return Samples(images, unlabelled(len(images)), scale=_scale(images)), names


def listed(path: Path, labelled: bool, reader: Reader, column: str | None, log: bool = True) -> Listing:
    """List a folder; of a kind of which a file may hold several images, one file too."""
    if reader is PICTURES or not path.is_file():
        return list_folder(path, labelled, log, reader, column)
    if labelled:
        raise NoLabels(f"the images in {readable(path)} have no classes (in Python, labelled=False does without).")
    return Listing(path.parent, (path,), reader=reader)


def _patients(listing: Listing, seen: Looks, path: str, labelled: bool) -> Int[Tensor, " n"] | None:
    """Give numbers for patients, where any is named, and refuse classes that are patients."""
    if not listing.patients and all(each.patient is None for each in seen.every):
        return None
    who = identities(listing, seen)
    if labelled:
        first = [who[start] for start in _starts(seen.frames)]
        check_classes(list(listing.ids), first, listing.classes, readable(path))
    return numbered(who)


def _ids(listing: Listing, seen: Looks, images: int) -> NDArray[np.int32]:
    """Give the class of every image, of which a file may hold several."""
    ids = np.asarray(listing.ids, np.int32)
    return ids if len(ids) == images else np.repeat(ids, seen.frames)


def identities(listing: Listing, seen: Looks | Sequence[Look], start: int = 0) -> list[str | None]:
    """Say whose each image of files from `start` on is, as a table or else the files call him; never to be shown."""
    named = listing.patients[start : start + len(seen)] or (None,) * len(seen)
    whose = (patient or each.patient for patient, each in zip(named, seen, strict=True))
    return [patient for patient, each in zip(whose, seen, strict=True) for _ in range(each.frames)]


def _decode_all(listing: Listing, size: tuple[int, int] | None, channels: int | None) -> tuple[Tensor, Looks]:
    """Decode every file into one array, on a few threads; files that cannot be decoded are named all at once."""
    from PIL.Image import DecompressionBombWarning

    reader, count = listing.reader, len(listing.files)
    threads = min(reader.threads, os.cpu_count() or 1)
    with warnings.catch_warnings():
        # Pillow warns from 90 and refuses from 180 million pixels: the refusal is the limit here.
        warnings.simplefilter("ignore", DecompressionBombWarning)
        seen = look(listing, threads)
        if not seen.every:
            raise _all_of(list(seen.bad.values())) or AssertionError
        wanted = channels or _common_channels(seen)

        def decoded(row: int) -> Iterator[NDArray[np.generic]]:
            return reader.read(listing.files[row], listing.name(row), wanted, size)

        def begun(row: int) -> NDArray[np.generic] | BadImage:
            return _tried(lambda: next(decoded(row)))

        # Shapes are compared with that of the first image that is whole.
        tried = ((row, begun(row)) for row in range(count) if row not in seen.bad)
        first, shape = next(((row, image.shape) for row, image in tried if not isinstance(image, BadImage)), (0, (0,)))
        kind = np.float32 if any(each.deep for each in seen.every) else np.uint8
        frames = seen.frames
        images = allocate((int(frames.sum()), *shape), kind)
        starts = _starts(frames)

        def put(row: int) -> BadInput | None:
            if row in seen.bad:
                return seen.bad[row]
            found = _tried(lambda: fill(row, int(frames[row])))
            return found if isinstance(found, BadInput) else None

        def fill(row: int, frames: int) -> BadInput | None:
            """Put the images of a file where they belong, or say what is wrong with them."""
            place = 0
            for image in decoded(row):
                if image.shape != shape:
                    sides = [each.side for each in seen.every]
                    return BadInput(_two_sizes(listing, first, row, (shape, image.shape), proposed_side(sides)))
                if place < frames:
                    images[starts[row] + place] = _of_kind(image, kind)
                place += 1
            return None if place == frames else _miscounted(listing.name(row), frames, place)

        placed = track(in_order(put, count, threads), "decoding images", count)
        faults = [fault for fault in placed if fault is not None]
    if faults:
        raise _all_of([fault for fault in faults if isinstance(fault, BadImage)]) or faults[0]
    return torch.from_numpy(images), seen


def _starts(frames: NDArray[np.int32]) -> NDArray[np.int64]:
    """Give the place of the first image of every file, from how many each has."""
    starts = allocate(frames.shape, np.int64)
    np.cumsum(frames, out=starts)
    starts -= frames
    return starts


def _of_kind(image: NDArray[np.generic], kind: type[np.generic]) -> NDArray[np.generic]:
    """Give bytes as floats beside images of more depth."""
    return image.astype(np.float32) / 255 if image.dtype == np.uint8 and kind is np.float32 else image


def _scale(images: Tensor) -> Tensor:
    return torch.full((1, 1), 1 / 255 if images.dtype == torch.uint8 else 1.0)


def _miscounted(name: str, frames: int, count: int) -> BadImage:
    sentence = f"{name} says that it has {frames:,} frames and has {count:,}; replace it or take it out."
    return BadImage(name, "another number of frames than it says", sentence)


def _warn_of_words(seen: Looks) -> None:
    """Warn of words in pixels: they may be names, and no scheme knows it."""
    burnt = seen.count([each.burnt_in for each in seen.every])
    if burnt:
        _log.warning(
            "%d of %d files %s that words are written into the pixels, which may be names: look at them first.",
            *(burnt, len(seen), "says" if burnt == 1 else "say"),
        )


def _tried(work: Callable[[], T]) -> T | BadImage:
    """Give what comes of work on a file, or what is wrong with the file."""
    try:
        return work()
    except BadImage as bad:
        return bad


def _common_channels(seen: Looks) -> int:
    """Give one channel if all images are grey, else three, and log if some are grey."""
    count, total = seen.count([each.grey for each in seen.every]), len(seen) - len(seen.bad)
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


def _two_sizes(listing: Listing, first: int, row: int, shapes: Sequence[tuple[int, ...]], side: int) -> str:
    one, two = (f"{width}×{height}" for _, height, width in shapes)
    return (
        f"{listing.name(first)} has {one} pixels and {listing.name(row)} has {two}; give one size for all images, such"
        f" as {side}, or ?side=… inside patches:."
    )
