"""What keeps a ledger from being read or written; whoever asks lets nothing leave then."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hideseek.errors import BadInput


class LedgerError(BadInput):
    """A ledger that cannot be used; its sentence is for the owner of the images, and may name places on his disk."""


class OverBudget(LedgerError):  # noqa: N818 (what it is, as `BadInput`)
    """A release that would spend more of an image than its owner allows."""


SENTENCES = {
    sqlite3.SQLITE_BUSY: "is in use by another process: wait until that has ended, and try again",
    sqlite3.SQLITE_LOCKED: "is in use by another process: wait until that has ended, and try again",
    sqlite3.SQLITE_FULL: "cannot be written, since its disk is full: free some space; nothing was released",
    sqlite3.SQLITE_NOTADB: "is no ledger: name the file of a ledger",
    sqlite3.SQLITE_CORRUPT: "is damaged: bring it back from a backup",
    sqlite3.SQLITE_READONLY: "may not be written: change its permissions",
    sqlite3.SQLITE_PERM: "may not be written: change its permissions",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: check that its folder is there and may be written",
    sqlite3.SQLITE_IOERR: "cannot be read or written by this disk: check its space and limits; nothing was released",
}


@contextmanager
def said_of(path: Path) -> Iterator[None]:
    """Turn what SQLite raises into one sentence about the ledger at a path."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF  # the rest says more than is needed
        told = SENTENCES.get(code, f"cannot be used ({error}): bring it back from a backup")
        raise LedgerError(f"the ledger {path} {told}.") from error
