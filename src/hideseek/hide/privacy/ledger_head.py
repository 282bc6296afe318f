"""Where a ledger ends, kept in a second file beside it: so that entries missing at its end are noticed.

The file is written after the ledger: a process that is killed between leaves it behind by an entry, which is harmless;
a head that is ahead of the ledger shows that entries were removed. It is sealed by the key. Whoever puts an older copy
of both files in their place is not noticed.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from hideseek.files import new_file, read_bytes
from hideseek.hide.privacy.ledger_key import LENGTH, LedgerKey

LONGEST = 1 << 10  # bytes
NOTHING = -1  # the number of the last entry of a ledger that has none yet
FIRST = bytes(LENGTH)  # the seal before the first entry


@dataclass(frozen=True)
class Head:
    """The last entry: its number, and a digest of its seal."""

    number: int
    digest: str


def head_file(ledger: Path) -> Path:
    """Give the place of a ledger's head."""
    return ledger.with_name(f"{ledger.name}.head")


def write_head(ledger: Path, key: LedgerKey, number: int, seal: bytes) -> None:
    """Write where a ledger ends; the caller sees to it that nobody else does so meanwhile."""
    with new_file(head_file(ledger), 0o600) as file:
        file.write(f"{number} {key.head(number, seal)}\n".encode())
        file.flush()
        os.fsync(file.fileno())


def read_head(ledger: Path) -> Head | None:
    """Read where a ledger ended when it was last written; None where that is lost."""
    try:
        number, digest = read_bytes(head_file(ledger), LONGEST).decode("ascii").split()
        return Head(int(number), digest)
    except (OSError, ValueError):
        return None
