"""The key of a ledger: images are known by keyed digests, and what is written is sealed by it.

It lies beside the ledger, in a file of its own that only its owner may read: who finds a copy of the ledger alone can
neither test whether an image is in it nor change it unseen.
"""

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

from hideseek.chance import secure
from hideseek.files import content, explained, read_bytes
from hideseek.files.leftovers import NEW, temporary_name
from hideseek.hide.privacy.ledger_errors import LedgerError

LENGTH = 32  # bytes of a key and of a seal
DIGEST = 16  # bytes that an image is known by
BYTES = 255.0
CLOSE = 1e-3  # of a byte: what is so close to bytes is bytes, divided by 255 in some float type


@dataclass(frozen=True)
class LedgerKey:
    """What one ledger's digests and seals are made with; each purpose has a prefix of its own."""

    secret: bytes = field(repr=False)

    def image(self, pixels: NDArray[np.generic]) -> bytes:
        """Give what an image, c×h×w, is known by: a keyed digest of its pixels.

        Grey images count as grey however many channels repeat it, and bytes as bytes where they were divided by 255:
        a file and an array of the same pixels are the same image.
        """
        plain = _canonical(pixels)
        return (
            blake3(f"image {plain.shape} {plain.dtype}\0".encode(), key=self.secret)
            .update(content(plain))
            .digest(DIGEST)
        )

    def patient(self, identity: str) -> bytes:
        """Give what all images of a patient are known by: a keyed digest of what the source calls the patient."""
        return blake3(b"patient\0" + identity.encode("utf-8", "surrogateescape"), key=self.secret).digest(DIGEST)

    def image_set(self, images: bytes) -> str:
        """Give what a set of images is known by, from their digests one after another."""
        return blake3(b"set\0" + images, key=self.secret).hexdigest()

    def seal(self, number: int, before: bytes, body: str) -> bytes:
        """Seal an entry together with the seal of the one before it: a message authentication code."""
        return blake3(b"entry\0" + number.to_bytes(8, "big") + before + body.encode(), key=self.secret).digest()

    def head(self, number: int, seal: bytes) -> str:
        """Seal the number and the seal of the last entry."""
        return blake3(b"head\0" + (number + 1).to_bytes(8, "big") + seal, key=self.secret).hexdigest()


def _canonical(pixels: NDArray[np.generic]) -> NDArray[np.generic]:
    if pixels.dtype != np.uint8:
        steps = np.asarray(pixels, np.float64) * BYTES
        whole = np.rint(steps)
        if whole.min() >= 0 and whole.max() <= BYTES and float(np.abs(steps - whole).max()) < CLOSE:
            pixels = whole.astype(np.uint8)
    return pixels[:1] if len(pixels) == 3 and bool((pixels[1:] == pixels[:1]).all()) else pixels


def key_file(ledger: Path) -> Path:
    """Give the place of a ledger's key."""
    return ledger.with_name(f"{ledger.name}.key")


def make_key(ledger: Path) -> None:
    """Make the key of a new ledger, unless it has one; whole or not at all, whoever else makes it at the same time."""
    path = key_file(ledger)
    if path.exists():
        return
    partial = path.with_name(temporary_name(path.name))
    with explained(path):
        descriptor = os.open(partial, NEW, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(secure().bytes(LENGTH))
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileExistsError):
                os.link(partial, path)
        finally:
            partial.unlink(missing_ok=True)


@contextmanager
def alone(ledger: Path) -> Iterator[None]:
    """Wait until no other process is making the same ledger, and keep others waiting; a killed one keeps nobody."""
    with key_file(ledger).open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def read_key(ledger: Path) -> LedgerKey:
    """Read the key of a ledger; one that others can read, or that is none, is refused."""
    path = key_file(ledger)
    try:
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode):
            raise LedgerError(f"the key {path} of the ledger is no file: put the key itself there.")
        if stat.S_IMODE(found.st_mode) & 0o077:
            raise LedgerError(
                f"the key {path} of the ledger may be read or changed by others: take that right from them (chmod 600),"
                " and count what the ledger holds as known to them."
            )
        secret = read_bytes(path, LENGTH)
    except FileNotFoundError:
        raise LedgerError(
            f"the key {path} of the ledger is missing: bring it back from a backup; without it nobody can tell which"
            " images were released."
        ) from None
    except OSError as error:
        raise LedgerError(f"the key {path} of the ledger cannot be read ({error.strerror}).") from None
    if len(secret) != LENGTH:
        raise LedgerError(f"the key {path} of the ledger is damaged: bring it back from a backup.")
    return LedgerKey(secret)
