"""An audit's folder: what was asked, what is done so far, and a lock so that two audits do not share it."""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock, Timeout
from pydantic import TypeAdapter, ValidationError

from hideseek.errors import BadInput
from hideseek.files import explained, must_be_new, new_file

T = TypeVar("T")
ASKED, WORK, PICTURES = "audit.json", "work", "pictures"
PRIVATE = 0o700  # the folder holds private images, and the truth behind releases while it is at work


@dataclass(frozen=True)
class Store:
    """Keeps each part of an audit as soon as it is done."""

    folder: Path

    @property
    def pictures(self) -> Path:
        """Where the pictures of a report are; private ones too."""
        return self.folder / PICTURES

    def place(self, key: str) -> Path:
        """Give the place of a part that is at work, by its key: scheme/attack."""
        return self.folder / WORK / slug(key)

    def has(self, key: str) -> bool:
        """Tell whether a part is done."""
        return self._file(key).is_file()

    def part(self, key: str, kind: Any, make: Callable[[], T]) -> T:
        """Give a part that is done, or do it and keep it."""
        path, adapter = self._file(key), TypeAdapter[T](kind)
        if path.is_file():
            try:
                found: T = adapter.validate_json(path.read_bytes())
            except ValidationError:
                raise BadInput(f"{path} is damaged: remove it, and go on with --resume.") from None
            return found
        made = make()
        with new_file(path, mode=0o600) as file:
            file.write(adapter.dump_json(made, indent=1))
        return made

    def forget(self, key: str) -> None:
        """Let a part be done again when the audit goes on."""
        self._file(key).unlink(missing_ok=True)

    def _file(self, key: str) -> Path:
        place = self.place(key)
        return place.with_name(f"{place.name}.json")  # a key may have dots of its own

    def finish(self, *, keep: bool) -> None:
        """Remove what was only needed on the way, the truth above all, unless it shall be kept."""
        if not keep:
            shutil.rmtree(self.folder / WORK, ignore_errors=True)


@contextmanager
def opened(folder: Path, asked: Mapping[str, Any], *, resume: bool) -> Iterator[Store]:
    """Open a new folder for an audit, or one that was begun and is asked the same."""
    path = folder / ASKED
    if resume and not path.is_file():
        raise BadInput(f"there is no audit to resume in {folder}: leave --resume out, or name another folder.")
    if resume and (folder / "result.json").is_file() and not (folder / WORK).is_dir():
        raise BadInput(f"the audit in {folder} is finished: `hideseek report {folder}` makes its page again.")
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder.parent / f".{folder.name}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise BadInput(f"another audit is writing {folder}: wait for it or choose another folder.") from None
    try:
        if resume:
            _must_be_the_same(path, asked)
        else:
            _must_be_new(folder)
            with explained(folder):
                folder.chmod(PRIVATE)
            with new_file(path, mode=0o600) as file:
                file.write(json.dumps(asked, indent=1, ensure_ascii=False).encode())
        yield Store(folder)
    finally:
        Path(lock.lock_file).unlink(missing_ok=True)  # while it is held, so that nobody else's is removed
        lock.release()


def _must_be_new(folder: Path) -> None:
    if (folder / ASKED).is_file() and not (folder / "result.json").is_file():
        raise BadInput(f"an audit was begun in {folder}: go on with --resume, or choose another folder.")
    must_be_new(folder)


def _must_be_the_same(path: Path, asked: Mapping[str, Any]) -> None:
    try:
        before = json.loads(path.read_text("utf-8"))
        names = sorted({**before, **asked})
    except (ValueError, TypeError, RecursionError):
        raise BadInput(f"{path} is damaged: begin the audit anew in another folder.") from None
    now = json.loads(json.dumps(asked))
    differing = [name for name in names if before.get(name) != now.get(name)]
    if differing:
        raise BadInput(
            f"the audit in {path.parent} was begun with other {', '.join(differing)}: resume it with the same, or"
            " choose another folder."
        )


def slug(key: str) -> str:
    """Give a key as a path: letters, digits, dots, dashes, and a slash between its parts.

    >>> slug("singularized-mixup:tau=1e-4/mixup-pairs")
    'singularized-mixup-tau-1e-4/mixup-pairs'
    """
    return "".join(letter if letter.isalnum() or letter in "/.-" else "-" for letter in key)
