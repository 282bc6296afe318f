"""labels.csv in a folder of images: the class of each file, and whose it is."""

import csv
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from hideseek.errors import BadInput
from hideseek.files import check_plain

NAME = "labels.csv"
FILE, LABEL, PATIENT = "file", "label", "patient"
_SEPARATORS = (",", ";", "\t")  # as programs for tables write them
_LONGEST = 200  # characters of a label
_NAMED = 5  # names in a sentence

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LabelTable:
    """What a labels.csv says of files, by their names inside the folder."""

    path: Path
    labels: Mapping[str, str]
    """Nothing, where there is no column of labels."""
    patients: Mapping[str, str] = field(repr=False)
    files: tuple[str, ...]

    def check(self, found: Mapping[str, Path]) -> None:
        """Refuse a table that names files which are not there; count files in the folder that it does not name."""
        missing = [name for name in self.files if name not in found]
        if missing:
            have = "is 1 file that is" if len(missing) == 1 else f"are {len(missing):,} files that are"
            raise BadInput(f"in {self.path} there {have} not in the folder ({_some(missing)}); correct the table.")
        unnamed = len(found) - len(self.files)
        if unnamed:
            _log.warning(
                "%d %s in the folder but not in %s, and left out.",
                *(unnamed, "image is" if unnamed == 1 else "images are", self.path),
            )


def table_in(folder: Path, column: str | None) -> LabelTable | None:
    """Read the labels.csv of a folder, if there is one; `column` has the labels, by default the one called label."""
    path = folder / NAME
    if not path.exists():
        if column is not None:
            raise BadInput(f"a column of labels needs a table {path}; write one with the columns file and {column}.")
        return None
    header, rows = _cells(path)
    if FILE not in header:
        raise BadInput(f"{path} has no column {FILE} (columns: {', '.join(header)}); name each file in one.")
    others = [name for name in header if name not in (FILE, PATIENT)]
    wanted = LABEL if column is None else column
    if wanted not in header and (column is not None or others):
        hint = f"name one of these as the label column, or call one {LABEL}"
        raise BadInput(f"{path} has no column {wanted} (columns: {', '.join(header)}); {hint}.")
    labels: dict[str, str] = {}
    patients: dict[str, str] = {}
    seen: dict[str, tuple[str, ...]] = {}
    for number, cells in rows:
        if len(cells) != len(header):
            raise BadInput(f"line {number} of {path} has {len(cells)} cells and the first {len(header)}; repair it.")
        row = dict(zip(header, (cell.strip() for cell in cells), strict=True))
        name = _inside(row[FILE], path, number)
        label, patient = row.get(wanted, ""), row.get(PATIENT, "")
        if seen.setdefault(name, (label, patient)) != (label, patient):
            raise BadInput(f"{path} names {name} twice, with different labels or patients; keep one line of it.")
        if wanted in header:
            labels[name] = _checked(label, path, number)
        if patient:
            patients[name] = patient
    if not seen:
        raise BadInput(f"{path} names no files; write a line for each, or remove it.")
    return LabelTable(path, labels, patients, tuple(seen))


def _cells(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Read the names of the columns, and the lines that are not empty, each with its number."""
    try:
        check_plain(path)
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not in UTF-8; save it as CSV in UTF-8.") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror}); change its permissions.") from None
    lines = text.splitlines()
    if not lines or not lines[0].strip():
        raise BadInput(f"{path} is empty; write a first line with the columns {FILE} and {LABEL}.")
    separator = max(_SEPARATORS, key=lines[0].count)
    try:
        parsed = csv.reader(lines, delimiter=separator, strict=True)
        header = [name.strip() for name in next(parsed)]
        rows = [(parsed.line_num, cells) for cells in parsed if any(cell.strip() for cell in cells)]
    except csv.Error as error:
        raise BadInput(f"{path} is not a table of comma-separated values ({error}); save it as CSV again.") from None
    if len(set(header)) < len(header):
        raise BadInput(f"{path} has two columns of one name (columns: {', '.join(header)}); rename one.")
    return header, rows


def _inside(name: str, path: Path, number: int) -> str:
    """Give a file's name as the folder has it; one that leads out of it is refused."""
    plain = PurePosixPath(name.replace("\\", "/"))
    if not name or plain.is_absolute() or ".." in plain.parts or (plain.parts and plain.parts[0].endswith(":")):
        what = f"names {name!r}, which is not inside the folder" if name else "names no file"
        raise BadInput(f"line {number} of {path} {what}; name files from the folder on, such as scans/1.png.")
    return plain.as_posix()


def _checked(label: str, path: Path, number: int) -> str:
    if not label or len(label) > _LONGEST or not label.isprintable():
        raise BadInput(f"line {number} of {path} has no label of 1 to {_LONGEST} characters; give it one.")
    return label


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def in_order(labels: set[str]) -> tuple[str, ...]:
    """Sort labels: numbers by their size, others as words.

    >>> in_order({"10", "9"}), in_order({"b", "a", "10"})
    (('9', '10'), ('10', 'a', 'b'))
    """
    numbers = all(label.isdecimal() for label in labels)
    return tuple(sorted(labels, key=lambda label: (int(label) if numbers else 0, label)))
