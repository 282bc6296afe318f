"""A publisher's file, from a folder of the user's or from the web, and never without its checksum."""

import hashlib
import http.client
import os
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from hideseek.errors import BadInput
from hideseek.progress import track

PLACE = "HIDESEEK_DATA"  # the environment variable that says where data sets lie
_TIMEOUT = 30.0  # seconds without an answer
_PIECE = 1 << 20


@dataclass(frozen=True)
class Published:
    """One file as its publisher gives it out: the first address that answers counts."""

    name: str
    addresses: tuple[str, ...]
    algorithm: str  # of the checksum
    checksum: str


def user_folder() -> Path | None:
    """Give the folder of data sets that the user named, if any."""
    named = os.environ.get(PLACE)
    return Path(named).expanduser() if named else None


def fetch(published: Published, folder: Path) -> Path:
    """Give the path of a published file: the user's own copy, else downloaded into `folder`; its checksum holds."""
    own = user_folder()
    if own is not None and (own / published.name).is_file():
        with (own / published.name).open("rb") as file:
            _check(published, _digest(published, _pieces(file)), str(own / published.name))
        return own / published.name
    reasons = []
    for address in published.addresses:
        try:
            return _download(published, address, folder / published.name)
        except (OSError, http.client.HTTPException) as error:
            reasons.append(f"{address}: {error}")
    raise BadInput(
        f"{published.name} could not be downloaded ({'; '.join(reasons)}), so get it from its publisher by other means,"
        f" put it into a folder as it is, and point the environment variable {PLACE} at that folder."
    )


def _download(published: Published, address: str, path: Path) -> Path:
    """Read one address to the end and compare the checksum."""
    request = urllib.request.Request(address, headers={"User-Agent": "hideseek"})  # noqa: S310 (addresses are constants)
    with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer, path.open("wb") as file:  # noqa: S310
        promised = int(answer.headers.get("Content-Length") or 0)
        pieces = track(_pieces(answer), f"downloading {published.name} (MiB)", promised / _PIECE or None)
        digest = _digest(published, _copied(pieces, file))
        if file.tell() < promised:
            raise ConnectionError(f"cut off after {file.tell()} of {promised} bytes")
    _check(published, digest, address)
    return path


def _pieces(stream: IO[bytes] | http.client.HTTPResponse) -> Iterator[bytes]:
    while piece := stream.read(_PIECE):
        yield piece


def _copied(pieces: Iterator[bytes], file: IO[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        file.write(piece)
        yield piece


def _digest(published: Published, pieces: Iterator[bytes]) -> str:
    digest = hashlib.new(published.algorithm, usedforsecurity=False)
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def _check(published: Published, digest: str, where: str) -> None:
    if digest != published.checksum:
        raise BadInput(
            f"{published.name} from {where} has the {published.algorithm} checksum {digest} and not"
            f" {published.checksum}, so it is damaged or was changed; remove it and get it anew."
        )
