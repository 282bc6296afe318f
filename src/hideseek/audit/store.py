"""An audit's folder: what was asked, what is done so far, and a lock so that two audits do not share it."""

import json
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from hideseek.errors import BadInput
from hideseek.files import (
    clear_leftovers,
    explained,
    locked,
    must_be_new,
    new_file,
    own_folder,
    read_bytes,
    read_record,
)

T = TypeVar("T")
ASKED, WORK, PICTURES, LOCK = "audit.json", "work", "pictures", ".lock"
PRIVATE = 0o700  # the folder holds private images, and the truth behind releases while it is at work
LONGEST = 120  # bytes of a name: file systems allow 255 with what is added


class PartKind(StrEnum):
    """A kind of thing that an audit keeps when it is done; its name in the folder."""

    RESULT = "result"
    ADVICE = "advice"
    PROOFS = "proofs"
    ACCURACY = "accuracy"
    TRAINING = "training"
    TIME = "time"


@dataclass(frozen=True)
class Part:
    """Names a thing that is kept: its kind, and of which scheme, attack and look it is, where there are any."""

    kind: PartKind
    scheme: str = ""
    attack: str = ""
    look: int = 0


@dataclass(frozen=True)
class Store:
    """Keeps each part of an audit as soon as it is done."""

    folder: Path

    @property
    def pictures(self) -> Path:
        """Where the pictures of a report are; private ones too."""
        return self.folder / PICTURES

    def scheme_folder(self, scheme: str) -> Path:
        """Give the folder of a scheme's release and truth while the audit is at work."""
        return self.folder / WORK / "schemes" / path_name(scheme)

    def clear(self, scheme: str) -> None:
        """Remove what a run that was killed left of a scheme's release."""
        folder = self.scheme_folder(scheme)
        work = (self.folder / WORK).resolve()
        if folder.is_symlink() or not folder.resolve().is_relative_to(work):
            raise BadInput(f"{folder} is a link to another place: remove it, and go on with the audit.")
        shutil.rmtree(folder, ignore_errors=True)

    def has(self, part: Part) -> bool:
        """Tell whether a part is done."""
        return self.path(part).is_file()

    def kept(self, part: Part, kind: type[T]) -> T | None:
        """Give a part that is done; None where it is not."""
        return self._read(self.path(part), TypeAdapter(kind)) if self.has(part) else None

    def part(self, part: Part, kind: Any, make: Callable[[], T]) -> T:
        """Give a part that is done, or do it and keep it."""
        if self.has(part):
            return self._read(self.path(part), TypeAdapter[T](kind))
        made = make()
        self.keep(part, kind, made)
        return made

    def keep(self, part: Part, kind: Any, made: Any) -> None:
        """Keep a part, in the place of what was kept of it before."""
        adapter = TypeAdapter[Any](kind)
        text = adapter.dump_json(made, indent=1)
        try:
            adapter.validate_json(text)
        except ValidationError:
            raise BadInput(
                f"the {part.kind} of {part.scheme} {part.attack} cannot be kept: not all is finite."
            ) from None
        with new_file(self.path(part), mode=0o600) as file:
            file.write(text)

    def _read(self, path: Path, adapter: TypeAdapter[T]) -> T:
        try:
            return adapter.validate_json(read_bytes(path))
        except ValidationError:
            raise BadInput(f"{path} is damaged: remove it, and go on with the audit.") from None

    def forget(self, part: Part) -> None:
        """Let a part be done again when the audit goes on."""
        self.path(part).unlink(missing_ok=True)

    def path(self, part: Part) -> Path:
        """Give the file of a part."""
        names = [path_name(name) for name in (part.scheme, part.attack) if name]
        *folders, name = [part.kind.value, *names]
        again = f"@{part.look}" if part.look else ""  # which is in no name
        return self.folder.joinpath(WORK, *folders, f"{name}{again}.json")

    def remove_pictures(self, shown: Collection[str]) -> None:
        """Remove the pictures of earlier looks, all but those that are shown."""
        for path in self.pictures.rglob("*.png"):
            if str(path.relative_to(self.pictures)) not in shown:
                path.unlink()

    def finish(self, *, keep: bool) -> None:
        """Remove what was only needed on the way, the truth above all, unless it shall be kept."""
        if not keep and not (self.folder / WORK).is_symlink():
            shutil.rmtree(self.folder / WORK, ignore_errors=True)


@contextmanager
def opened(folder: Path, asked: Mapping[str, Any], *, resume: bool) -> Iterator[Store]:
    """Open a new folder for an audit, or one that was begun and is asked the same."""
    path = folder / ASKED
    check_folder(folder, resume=resume)
    own_folder(folder, PRIVATE)
    if not resume:
        with explained(folder):
            folder.chmod(PRIVATE)  # where it was there, and empty
    with locked(folder / LOCK) as free:
        if not free:
            raise BadInput(f"another audit is writing {folder}: wait for it or choose another folder.")
        clear_leftovers(folder)
        if resume:
            _must_be_the_same(path, asked)
        else:
            check_folder(folder, resume=False)
            with new_file(path, mode=0o600) as file:
                file.write(json.dumps(asked, indent=1, ensure_ascii=False).encode())
        yield Store(folder)


def check_folder(folder: Path, *, resume: bool) -> None:
    """Refuse a folder in which no audit can begin, or none go on; before anything is computed."""
    if resume and folder.is_symlink():
        raise BadInput(f"{folder} is a link, and links are not followed: name the audit's folder itself.")
    if resume and not (folder / ASKED).is_file():
        raise BadInput(f"there is no audit to resume in {folder}: begin one, or name another folder.")
    if resume and (folder / "result.json").is_file() and not (folder / WORK).is_dir():
        raise BadInput(f"the audit in {folder} is finished: its page can be made again from result.json.")
    if resume:
        return
    if (folder / ASKED).is_file() and not (folder / "result.json").is_file():
        raise BadInput(f"an audit was begun in {folder}: resume it, or choose another folder.")
    if not folder.is_symlink():
        clear_leftovers(folder, ASKED)  # of an audit that was killed when it began
    must_be_new(folder, besides=(LOCK,))


def _must_be_the_same(path: Path, asked: Mapping[str, Any]) -> None:
    try:
        before = read_record(path)
        names = sorted({**before, **asked})
    except (ValueError, TypeError):
        raise BadInput(f"{path} is damaged: begin the audit anew in another folder.") from None
    now = json.loads(json.dumps(asked))
    differing = [name for name in names if before.get(name) != now.get(name)]
    if differing:
        raise BadInput(
            f"the audit in {path.parent} was begun with other {', '.join(differing)}: resume it with the same, or"
            " choose another folder."
        )


def path_name(name: str) -> str:
    """Give a name as a part of a path: letters, digits, dots and dashes, beginning with a letter or a digit.

    >>> path_name("singularized-mixup:tau=1e-4")
    'singularized-mixup-tau-1e-4'
    """
    text = "".join(letter if letter.isalnum() or letter in ".-" else "-" for letter in name)
    if not text[:1].isalnum() or len(text.encode()) > LONGEST:
        raise BadInput(
            f"a scheme or attack cannot be called {name[:LONGEST]!r}: begin its name with a letter or a digit, and keep"
            f" it under {LONGEST} bytes."
        )
    return text
