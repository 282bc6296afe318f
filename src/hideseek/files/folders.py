"""Folders that appear whole: written inside a folder of our own, closed to others, and renamed at the end."""

import os
import shutil
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from hideseek.errors import BadInput
from hideseek.files.leftovers import clear_folders, marked, ours, temporary_name
from hideseek.files.writing import explained


def must_be_new(folder: Path, besides: Collection[str] = ()) -> None:
    """Refuse to write where something is already, but for some names; an empty folder of the user's own will do."""
    with explained(folder):
        try:
            found = folder.lstat()
        except FileNotFoundError:
            return
        _must_be_own(folder, found)
        if any(path.name not in besides for path in folder.iterdir()):
            raise BadInput(f"{folder} exists already: choose another folder or remove it first.")


def own_folder(folder: Path, mode: int = 0o777) -> None:
    """Make a folder, or take one that is there; never one that a link leads to, or that is somebody else's."""
    with explained(folder):
        folder.mkdir(mode, parents=True, exist_ok=True)
        _must_be_own(folder, folder.lstat())


def _must_be_own(folder: Path, found: os.stat_result) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise BadInput(f"{folder} is a link, and links are not followed: name the folder itself.")
    if not stat.S_ISDIR(found.st_mode):
        raise BadInput(f"{folder} exists already: choose another folder or remove it first.")
    if not ours(found):
        raise BadInput(f"the folder {folder} belongs to somebody else: choose another one.")


@contextmanager
def new_folder(folder: Path, mode: int = 0o777) -> Iterator[Path]:
    """Give a folder to write into; it becomes `folder`, of this mode, when all went well and is removed when not.

    It lies in a hidden folder with a name that nobody can guess, which only its owner may enter. A run that was killed
    leaves that behind; the next run with the same name clears it away.
    """
    folder = folder.resolve() if folder.name in ("", "..") else folder
    must_be_new(folder)
    with explained(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        outer = folder.with_name(temporary_name(folder.name))
        outer.mkdir(0o700)
        try:
            with marked(outer):
                if not clear_folders(folder, but=outer):
                    raise BadInput(f"another run is writing {folder}: wait for it or choose another folder.")
                must_be_new(folder)
                inner = outer / folder.name
                inner.mkdir(mode)
                yield inner
                inner.rename(folder)
        finally:  # after an interrupt too
            shutil.rmtree(outer, ignore_errors=True)
