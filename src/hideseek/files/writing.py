"""Writing files so that nothing half-done is ever taken for whole: a temporary name first, the real one at the end."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from hideseek.errors import BadInput
from hideseek.files.leftovers import NEW, clear_leftovers, lock, temporary_name


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn a full disk or a forbidden place into one sentence."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise BadInput(
                f"the disk of {path} is full: free some space or write to another disk; what was unfinished is gone."
            ) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise BadInput(f"{path} may not be written: choose another place or change its permissions.") from error
        if error.errno in (errno.ENOTDIR, errno.EEXIST, errno.ENOTEMPTY, errno.ENAMETOOLONG, errno.EISDIR):
            raise BadInput(f"{path} cannot be written ({error.strerror}): choose another name or place.") from error
        raise


@contextmanager
def new_file(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Open a temporary file; it becomes `path`, replacing what was there, when all went well.

    What a run that was killed left of a file of this name is removed. The user's umask holds.
    """
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        clear_leftovers(path.parent, path.name)
        partial = path.with_name(temporary_name(path.name))
        descriptor = os.open(partial, NEW, mode)
        held = os.dup(descriptor)  # keeps the lock until the file has its name
        try:
            lock(held)
            with os.fdopen(descriptor, "w+b") as file:
                yield file
            partial.replace(path)
        finally:
            os.close(held)
            partial.unlink(missing_ok=True)
