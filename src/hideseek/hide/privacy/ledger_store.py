"""The file of a ledger: SQLite, with a log that is written ahead; all that is written is there for good, or not at all.

Two tables that only grow. `entries` has numbered lines of JSON, each sealed together with the one before it. `sets` has
the keyed digests of the images of a release, one after another, once however often the same images are released.
"""

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from hideseek.files.leftovers import NEW
from hideseek.hide.privacy.ledger_errors import LedgerError, said_of

APPLICATION = 0x68736C67  # SQLite's mark of what a file is: "hslg"
VERSION = 1
PATIENCE = 30.0  # seconds to wait for another process
TABLES = (
    "CREATE TABLE entries (number INTEGER PRIMARY KEY, body TEXT NOT NULL, seal BLOB NOT NULL) STRICT",
    "CREATE TABLE sets (name TEXT PRIMARY KEY, images BLOB NOT NULL) STRICT, WITHOUT ROWID",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)


class Line(NamedTuple):
    """An entry as it is stored."""

    number: int
    body: str
    seal: bytes


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a ledger to read it as it is at one moment."""
    with _opened(path) as ledger:
        ledger.execute("BEGIN")
        _check(ledger, path)
        yield ledger


@contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a ledger to write to it, alone; what was written is on the disk at the end, or nothing is."""
    with _opened(path) as ledger:
        ledger.execute("BEGIN IMMEDIATE")
        try:
            _check(ledger, path)
            yield ledger
            ledger.execute("COMMIT")
        except BaseException:
            if ledger.in_transaction:
                ledger.execute("ROLLBACK")
            raise


def is_new(path: Path) -> bool:
    """Tell whether there is no ledger at a place: no file, or an empty one."""
    return not path.exists() or path.stat().st_size == 0


@contextmanager
def making(path: Path) -> Iterator[tuple[sqlite3.Connection, bool]]:
    """Open a ledger to write to it, and make it if it is new; gives whether it is."""
    try:
        os.close(os.open(path, NEW, 0o600))  # before SQLite makes one that others may read
    except FileExistsError:
        pass
    except OSError as error:
        raise LedgerError(f"the ledger {path} cannot be made ({error.strerror}): choose another place.") from None
    with _opened(path, new=True) as ledger:
        ledger.execute("BEGIN IMMEDIATE")
        try:
            new = not ledger.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if new:
                for table in TABLES:
                    ledger.execute(table)
            _check(ledger, path)
            yield ledger, new
            ledger.execute("COMMIT")
        except BaseException:
            if ledger.in_transaction:
                ledger.execute("ROLLBACK")
            raise


@contextmanager
def _opened(path: Path, *, new: bool = False) -> Iterator[sqlite3.Connection]:
    """Connect to a ledger; commits wait until the disk has them."""
    try:
        found = path.lstat()
    except OSError:
        raise LedgerError(f"there is no ledger at {path}: check the place, or state a budget to begin one.") from None
    if not stat.S_ISREG(found.st_mode):
        raise LedgerError(f"the ledger {path} is no file, or a link: name the file itself.")
    if not new and not found.st_size:
        raise LedgerError(f"the ledger {path} is empty: bring it back from a backup, or state a budget to begin one.")
    with said_of(path), closing(sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)) as ledger:
        if new:
            ledger.execute("PRAGMA journal_mode = WAL")  # which the file keeps
        ledger.execute("PRAGMA synchronous = FULL")
        yield ledger


def _check(ledger: sqlite3.Connection, path: Path) -> None:
    """Refuse what is no ledger, or of a version that is not known here."""
    if ledger.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise LedgerError(f"{path} is a file of SQLite, but no ledger: name the file of a ledger.")
    version = ledger.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise LedgerError(f"the ledger {path} was written by a newer hideseek (version {version}): update this one.")


def lines(ledger: sqlite3.Connection) -> list[Line]:
    """Give all entries, in their order."""
    return [Line(*row) for row in ledger.execute("SELECT number, body, seal FROM entries ORDER BY number")]


def image_sets(ledger: sqlite3.Connection) -> dict[str, bytes]:
    """Give the sets of images by their names."""
    return dict(ledger.execute("SELECT name, images FROM sets"))


def append(ledger: sqlite3.Connection, line: Line) -> None:
    """Add an entry."""
    ledger.execute("INSERT INTO entries VALUES (?, ?, ?)", line)


def keep_set(ledger: sqlite3.Connection, name: str, images: bytes) -> None:
    """Keep a set of images, once."""
    ledger.execute("INSERT OR IGNORE INTO sets VALUES (?, ?)", (name, images))
