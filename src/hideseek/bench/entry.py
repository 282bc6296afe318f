"""An entry of the benchmark: a folder with what was measured, and what that rests on."""

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

from hideseek.audit.store import path_name
from hideseek.bench.cost import Cost
from hideseek.errors import BadInput
from hideseek.files import new_file, parsed, read_bytes
from hideseek.records.result import Accuracy, Result
from hideseek.records.spent import Spent
from hideseek.report.result_files import NAME as RESULT
from hideseek.report.result_files import read_result, write_result

if TYPE_CHECKING:
    from pydantic import TypeAdapter

FORMAT: Final = 1
FILE, PICTURE = "entry.json", "found.png"


@dataclass(frozen=True)
class Entry:
    """One way of sharing, measured by a protocol; its evidence, an audit's result.json, lies beside it."""

    __pydantic_config__: ClassVar = {"extra": "forbid", "allow_inf_nan": False}

    format: Literal[1]
    protocol: str
    fingerprint: str
    """Of the protocol that it was measured by."""
    name: str
    """The way of sharing, as the command line has it."""
    accuracies: tuple[Accuracy, ...]
    """Of a model that learnt from what is shared; one a seed."""
    cost: Cost
    spent: Spent
    """What is proved of any one image that is attacked, over all rounds."""

    @property
    def accuracy(self) -> float:
        """Give the mean accuracy over seeds."""
        return mean(each.accuracy.mean for each in self.accuracies)

    @property
    def spread(self) -> float:
        """Give the standard deviation over seeds; 0 of a single one."""
        values = [each.accuracy.mean for each in self.accuracies]
        return stdev(values) if len(values) > 1 else 0.0

    @property
    def learns(self) -> bool:
        """Tell whether all models do better than always naming the largest class."""
        return all(each.exceeds_largest_class for each in self.accuracies)


@dataclass(frozen=True)
class Evidence:
    """An entry with what it rests on."""

    folder: Path
    entry: Entry
    result: Result | None
    """None: there is none, which only an entry that hides nothing may have."""


def place_of(folder: Path, name: str) -> Path:
    """Give the folder of an entry."""
    return folder / path_name(name)


def write_entry(entry: Entry, result: Result | None, folder: Path) -> None:
    """Write an entry and its evidence into a folder."""
    text = json.dumps(dataclasses.asdict(entry), indent=1, ensure_ascii=False, allow_nan=False)
    _adapter().validate_json(text, strict=True)
    with new_file(folder / FILE) as file:
        file.write(text.encode() + b"\n")
    if result is not None:
        write_result(result, folder)


def read_entry(folder: Path) -> Evidence:
    """Read an entry, after checking that all of it is what it should be."""
    path = folder / FILE
    if not path.is_file():
        raise BadInput(f"{folder} is no entry, since it has no {FILE}: name a folder that hideseek bench wrote.")
    try:
        text = read_bytes(path).decode()
        parsed(text)
        entry = _adapter().validate_json(text, strict=True)
    except (ValueError, OSError):
        raise BadInput(f"{path} is damaged, or not what hideseek bench writes: measure the entry again.") from None
    return Evidence(folder, entry, read_result(folder) if (folder / RESULT).exists() else None)


def entries(folder: Path) -> Iterator[Evidence]:
    """Read all entries in a folder."""
    if not folder.is_dir():
        raise BadInput(f"{folder} is not a folder: name one that hideseek bench wrote entries into.")
    for path in sorted(folder.glob(f"*/{FILE}")):
        yield read_entry(path.parent)


@cache
def _adapter() -> "TypeAdapter[Any]":
    from pydantic import TypeAdapter

    return TypeAdapter(Entry)
