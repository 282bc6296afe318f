"""The folder of a training: its checkpoint and its metrics."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hideseek.errors import BadInput
from hideseek.files import new_file
from hideseek.train.checkpoint import seed_of


@dataclass(frozen=True)
class RunFolder:
    """Where a training writes, and whether it resumes what was begun there."""

    folder: Path
    resume: bool = False
    every: float = 30.0
    """Seconds between two checkpoints."""

    @property
    def checkpoint(self) -> Path:
        """The file of the last checkpoint."""
        return self.folder / "checkpoint.safetensors"

    @property
    def metrics(self) -> Path:
        """The file of what was measured, one JSON object a line, one line an epoch."""
        return self.folder / "metrics.jsonl"

    def seed(self, fresh: int) -> int:
        """Give the seed of the training that is resumed here, or a fresh one where none was begun."""
        if not self.checkpoint.exists():
            return fresh
        if not self.resume:
            raise BadInput(f"a training was begun in {self.folder}: resume it, or choose another folder.")
        return seed_of(self.checkpoint)

    def write_metrics(self, history: Sequence[dict[str, float]]) -> None:
        """Write what was measured in every epoch so far."""
        with new_file(self.metrics) as file:
            file.write("".join(json.dumps(epoch) + "\n" for epoch in history).encode())
