"""What runs that were killed left behind: temporary files and folders, removed only where they are provably ours.

Their names hold 128 random bits, so that nobody can put something in their place beforehand; they belong to this user;
they are no links; a folder has our mark in it, and is closed to others. While a run is at work it holds a lock, which
ends with its process.
"""

import fcntl
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MARK = "made-by-hideseek"
NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL  # no file, link or pipe that someone else put there
_OPEN = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK


def temporary_name(name: str) -> str:
    """Give the hidden name that a file or folder has while it is being written; nobody can guess it."""
    return f".{name}.{secrets.token_hex(16)}.partial"


def ours(found: os.stat_result) -> bool:
    """Tell whether a file or folder belongs to the user who runs this."""
    return found.st_uid == os.geteuid()


def lock(descriptor: int) -> bool | None:
    """Lock an open file until it is closed, however that comes about; False: another holds it; None: nobody knows."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return os.fstat(descriptor).st_nlink > 0  # else its holder has just removed it


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Hold a lock by its file, in a folder of our own, and remove it at the end; gives False where another holds it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        free = lock(descriptor) is not False
        try:
            yield free
        finally:
            if free:
                path.unlink(missing_ok=True)  # while it is held, so that nobody else's is removed
    finally:
        os.close(descriptor)


@contextmanager
def marked(folder: Path) -> Iterator[None]:
    """Put our mark into a folder that was just made, and hold its lock."""
    descriptor = os.open(folder / MARK, NEW, 0o600)
    try:
        lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def clear_leftovers(folder: Path, name: str | None = None) -> None:
    """Remove temporary files of runs that were killed: those of one name, or all in a folder and its subfolders."""
    if name is not None:
        for path in _temporary(folder, name):
            _clear_file(path)
        return
    for where, _, _ in os.walk(folder):  # which follows no links
        for path in _temporary(Path(where)):
            _clear_file(path)


def clear_folders(folder: Path, but: Path) -> bool:
    """Remove the temporary folders of `folder` that killed runs left, but one; False: another is still in use."""
    others = [path for path in _temporary(folder.parent, folder.name) if path.name != but.name]
    return False not in [_clear_folder(path) for path in others]


def _temporary(folder: Path, name: str | None = None) -> list[Path]:
    pattern = re.compile(rf"\.{'.+' if name is None else re.escape(name)}\.[0-9a-f]{{32}}\.partial", re.DOTALL)
    with suppress(OSError):  # of folders that may be written and not listed
        return [path for path in folder.iterdir() if pattern.fullmatch(path.name)]
    return []


def _clear_file(path: Path) -> None:
    with suppress(OSError):  # not there any more, or not ours to remove
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode) or not ours(found) or found.st_nlink != 1:
            return
        descriptor = os.open(path, _OPEN)
        try:
            if os.path.samestat(found, os.fstat(descriptor)) and lock(descriptor):
                path.unlink()
        finally:
            os.close(descriptor)


def _clear_folder(path: Path) -> bool:
    """Remove a folder if it is one of ours that nobody uses; False: it is in use."""
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:  # a link, a file, somebody else's
        return True
    try:
        found = os.fstat(folder)
        if not ours(found) or stat.S_IMODE(found.st_mode) & 0o077:
            return True
        mark = os.open(MARK, _OPEN, dir_fd=folder)
        try:
            seen = os.fstat(mark)
            if not stat.S_ISREG(seen.st_mode) or not ours(seen):
                return True
            held = lock(mark)
            if held:
                _empty(folder)
                path.rmdir()
            return held is not False
        finally:
            os.close(mark)
    except OSError:  # no mark, or it was removed meanwhile
        return True
    finally:
        os.close(folder)


def _empty(folder: int) -> None:
    """Remove all that is in an open folder, our mark last, without following any link or going by its name."""
    for name in sorted(os.listdir(folder), key=lambda name: name == MARK):
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            shutil.rmtree(name, dir_fd=folder)
        else:
            os.unlink(name, dir_fd=folder)
