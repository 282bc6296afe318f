"""What a folder holds: image files, their classes by subfolders or labels.csv, and files that are passed over."""

import logging
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hideseek.data.decode import PICTURES, how_to_convert
from hideseek.data.file_names import FileNames
from hideseek.data.label_table import NAME, LabelTable, in_order, table_in
from hideseek.data.labels import BadLabels, NoLabels, OneClass
from hideseek.data.reader import Reader
from hideseek.errors import BadInput
from hideseek.progress import track

NAMED = 10  # names in a sentence; of more, it says how many

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Listing:
    """The image files of a folder, in order, the class of each, and how many files of other types there are."""

    folder: Path
    files: Sequence[Path]
    ids: Sequence[int] | NDArray[np.int32] = ()
    classes: tuple[str, ...] = ()
    others: Counter[str] = field(default_factory=Counter)
    reader: Reader = PICTURES
    patients: tuple[str | None, ...] = field(default=(), repr=False)
    """Whose image each is, where a table says it of any."""

    def name(self, row: int) -> str:
        """Give the name of a file for a reader, without the folder's own."""
        if isinstance(self.files, FileNames):
            return readable(self.files.relative(row))
        file = self.files[row]
        return readable(file.relative_to(self.folder) if file.is_relative_to(self.folder) else file)


def list_folder(
    folder: Path, labelled: bool, log: bool = True, reader: Reader = PICTURES, column: str | None = None
) -> Listing:
    """List the images of a folder, hidden ones left out; files of other types are counted, and the count is logged.

    A labels.csv in it says which images there are, their classes (in `column`) and patients. Else, with labels,
    subfolders are the classes, sorted by name, and one that has files but no image is refused: its class would be lost.
    """
    with _explained(folder):
        if not folder.is_dir():
            raise BadInput(f"there is no folder {readable(folder)}; check the path.")
        table = table_in(folder, column)
        if table is not None:
            listing = _by_table(folder, reader, table, labelled)
        else:
            listing = _by_class(folder, reader) if labelled else _flat(folder, reader)
    if log and (count := listing.others.total()):
        were, hint = "file was" if count == 1 else "files were", how_to_convert(listing.others)
        found = types(listing.others) + (f"; {hint}" if hint else "")
        _log.warning("%d %s passed over in %s: %s.", count, were, readable(folder), found)
    return listing


def _flat(folder: Path, reader: Reader) -> Listing:
    """List all images, of whatever subfolder."""
    files, others = _sorted_out(folder, track(_walk(folder), "listing files"), reader)
    if not files:
        found = f" but {types(others)}" if others else ""
        convert = how_to_convert(others) or "name another"
        raise BadInput(f"the folder {readable(folder)} holds no {reader.kinds} image{found}; {convert}.")
    return Listing(folder, files, others=others, reader=reader)


def _by_table(folder: Path, reader: Reader, table: LabelTable, labelled: bool) -> Listing:
    """List the images that a table names, in the order of the folder."""
    files, others = _sorted_out(folder, track(_walk(folder), "listing files"), reader)
    others[table.path.suffix] -= 1
    found = {file.relative_to(folder).as_posix(): file for file in files}
    table.check(found)
    wanted = set(table.files)
    named = FileNames(folder)
    for name, file in found.items():
        if name in wanted:
            named.add(file)
    patients = tuple(table.patients.get(name) for name in found if name in wanted) if table.patients else ()
    classes: tuple[str, ...] = ()
    if labelled:
        classes = in_order(set(table.labels.values()))
        if not classes:
            raise NoLabels(
                f"{readable(table.path)} has no column of labels; add one (in Python, labelled=False does without)."
            )
        if len(classes) == 1:
            raise OneClass(
                f"{readable(table.path)} has the one label {classes[0]!r}; give images of two or more classes (in"
                " Python, labelled=False does without)."
            )
    ids = tuple(classes.index(table.labels[name]) for name in found if name in wanted) if classes else ()
    return Listing(folder, named, ids, classes, +others, reader, patients)


def _by_class(folder: Path, reader: Reader) -> Listing:
    """List a folder whose subfolders are classes."""
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    found = {entry: (FileNames(folder), Counter[str]()) for entry in entries if entry.is_dir()}
    for place, file in track(((entry, file) for entry in found for file in _walk(entry)), "listing files"):
        _sort_in(file, *found[place], reader)
    lost = {entry: others for entry, (files, others) in found.items() if others and not files}
    loose, others = _sorted_out(folder, (entry for entry in entries if not entry.is_dir()), reader)
    found = {entry: each for entry, each in found.items() if each[0]}
    if not found and not loose:
        return _flat(folder, reader)  # which says what there is instead
    if lost:
        raise BadInput(_lost(lost, reader))
    if not found:
        raise NoLabels(
            f"the images in {readable(folder)} are in no subfolders, so they have no classes; move each into a"
            f" subfolder named after its class, or name the classes in a {NAME} (in Python, labelled=False loads them"
            " as they are)."
        )
    if loose:
        lie = "image lies" if len(loose) == 1 else "images lie"
        raise BadLabels(
            f"{len(loose):,} {lie} directly in {readable(folder)}, beside subfolders; move every image into a subfolder"
            " named after its class (in Python, labelled=False loads them as they are)."
        )
    if len(found) == 1 and sum(len(files) for files, _ in found.values()) > 1:
        raise OneClass(
            f"the folder {readable(folder)} holds the one class {readable(next(iter(found)).name)!r}; sort the images"
            " into a subfolder for each of two or more classes (in Python, labelled=False does without)."
        )
    ids = np.repeat(np.arange(len(found), dtype=np.int32), [len(files) for files, _ in found.values()])
    return Listing(
        folder,
        FileNames.joined(folder, (files for files, _ in found.values())),
        ids,
        tuple(readable(entry.name) for entry in found),
        sum((each for _, each in found.values()), others),
        reader,
    )


def _lost(folders: dict[Path, Counter[str]], reader: Reader) -> str:
    """Say which subfolders have files but no image, of what types these are, and what to do."""
    names, one = some(repr(readable(folder.name)) for folder in folders), len(folders) == 1
    found: Counter[str] = sum(folders.values(), Counter())
    which, lost = ("the subfolder", "its class") if one else ("the subfolders", "their classes")
    convert = how_to_convert(found) or "convert the files to PNG"
    return (
        f"{which} {names} hold{'s' if one else ''} no {reader.kinds} image but {types(found)}, so {lost} would be lost;"
        f" {convert}, or take {'it' if one else 'them'} out."
    )


def _walk(folder: Path) -> Iterator[Path]:
    """Walk a folder in a fixed order, hidden files and folders left out."""

    def refuse(error: OSError) -> None:
        raise error

    for where, folders, files in os.walk(folder, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(where, name) for name in sorted(files) if not name.startswith("."))


def _sorted_out(folder: Path, files: Iterable[Path], reader: Reader) -> tuple[FileNames, Counter[str]]:
    """Give the image files, and how many others there are of each type."""
    images, others = FileNames(folder), Counter[str]()
    for file in files:
        _sort_in(file, images, others, reader)
    return images, others


def _sort_in(file: Path, images: FileNames, others: Counter[str], reader: Reader) -> None:
    """Add a file to the images, or to the count of others of its type."""
    if reader.is_one(file):
        images.add(file)
    else:
        others[readable(file.suffix.lower())] += 1


def types(others: Counter[str]) -> str:
    """Say how many files there are of each type, the most first.

    >>> types(Counter({".txt": 2, ".dcm": 10, "": 1}))
    '10 .dcm, 2 .txt, 1 without a suffix'
    """
    return some(f"{count:,} {suffix or 'without a suffix'}" for suffix, count in others.most_common())


def some(names: Iterable[str]) -> str:
    """Give names with commas between; of more than ten, ten and how many more.

    >>> some("abc"), some("abcdefghijklm")
    ('a, b, c', 'a, b, c, d, e, f, g, h, i, j and 3 more')
    """
    every = list(names)
    more = f" and {len(every) - NAMED:,} more" if len(every) > NAMED else ""
    return ", ".join(every[:NAMED]) + more


def readable(name: Path | str) -> str:
    """Give a file name that can be printed, whatever bytes it is made of."""
    return os.fsencode(name).decode("utf-8", "replace")


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Turn a folder that may not be listed into one sentence."""
    try:
        yield
    except OSError as error:
        name = readable(str(error.filename or folder))
        raise BadInput(f"{name} cannot be listed ({error.strerror}); change its permissions.") from error
