"""What a gate writes down: every message that left or stayed, what it leaks, and what was described before."""

import errno
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hideseek.files import own_folder, parsed, read_lines

LOG = "left.jsonl"


@dataclass(frozen=True)
class Leak:
    """What one attack of an inspection found in a message."""

    attack: str
    recovered: int
    """Private images that came back."""
    labels: bool
    """Whether it tells labels of the images."""
    applies: bool
    seconds: float

    def entry(self) -> dict[str, Any]:
        """Give it as it is written down."""
        return asdict(self)


@dataclass(frozen=True)
class GateLog:
    """A file of lines of JSON that only its owner reads, and that only grows."""

    folder: Path

    def append(self, entry: Mapping[str, Any]) -> None:
        """Add a line, and wait until the disk has it; what cannot be written must not leave."""
        own_folder(self.folder, 0o700)
        line = json.dumps(entry).encode() + b"\n"
        descriptor = os.open(self.folder / LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            before = os.fstat(descriptor).st_size
            if os.write(descriptor, line) != len(line):
                os.ftruncate(descriptor, before)
                raise OSError(errno.ENOSPC, f"{self.folder / LOG} cannot be written whole: free some space")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def entries(self) -> list[dict[str, Any]]:
        """Give all that was written down."""
        return [parsed(line) for line in read_lines(self.folder / LOG)]

    def released(self, kind: str) -> set[str]:
        """Give the digests of the messages of a kind that left."""
        return {each["digest"] for each in self.entries() if each.get("passed") and each.get("kind") == kind}

    def described(self, shard: str) -> dict[str, Any] | None:
        """Give what was described, and left, of a shard with this digest: its rows, their shape, classes and scheme."""
        for entry in reversed(self.entries()):
            if entry.get("passed") and shard in (shards := entry.get("shards", {})):
                return {**entry["encodings"], "rows": shards[shard]}
        return None
