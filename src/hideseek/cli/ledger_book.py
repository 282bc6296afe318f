"""What verbs write to a ledger: before what they make leaves, and after."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from blake3 import blake3

from hideseek.cli.terminal import say
from hideseek.data.source_images import each_source
from hideseek.hide.privacy.ledger import Ledger
from hideseek.hide.privacy.ledger_entries import Leaving
from hideseek.hide.privacy.ledger_errors import OverBudget
from hideseek.hide.privacy.ledger_summary import summary
from hideseek.hide.privacy.ledger_totals import every_image
from hideseek.report import sentences

VARIABLE = "HIDESEEK_LEDGER"  # of the environment: the ledger where a command names none
PIECE = 1 << 22


@dataclass
class Book:
    """A ledger, and the images that are about to be released; without a ledger, nothing is written and all is allowed.

    `add` must have returned before anything leaves.
    """

    ledger: Ledger | None = None
    images: list[bytes] = field(default_factory=list)
    number: int = -1

    @classmethod
    def of(cls, named: Path | None, data: str) -> "Book":
        """Open the ledger that was named, or the environment's, and look at the images as their source has them."""
        path = named or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
        if path is None:
            return cls()
        ledger = Ledger.open(path)
        return cls(ledger, each_source(data, ledger.key.image, ledger.key.patient))

    def check(self, leaving: Leaving) -> None:
        """Refuse what is over the budget before the work, not after; say where none of the images is known."""
        if self.ledger is None:
            return
        with _hinted(self.ledger.path):
            contents = self.ledger.check(leaving, self.images)
        if contents.entries and set(every_image(contents)).isdisjoint(self.images):
            count = sentences.counted(len(self.images), "image")
            say(f"None of these {count} is in the ledger {self.ledger.path} yet: are they of the same data set?")

    def add(self, leaving: Leaving) -> None:
        """Write down what is about to leave."""
        if self.ledger is not None:
            with _hinted(self.ledger.path):
                self.number = self.ledger.add(leaving, self.images)

    def finish(self, release: str = "") -> None:
        """Write down that it has left."""
        if self.ledger is not None:
            self.ledger.finish(self.number, release)

    def said(self) -> list[str]:
        """Say what the ledger has of these images now."""
        if self.ledger is None:
            return []
        found = summary(self.ledger.read(), self.images)
        return [f"The ledger {self.ledger.path} has it as entry {self.number}. {found.sentence()}"]


def file_digest(path: Path) -> str:
    """Give a checksum of a file."""
    total = blake3()
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            total.update(piece)
    return total.hexdigest()


@contextmanager
def _hinted(path: Path) -> Iterator[None]:
    """Name the commands that help with a budget."""
    try:
        yield
    except OverBudget as refused:
        told = f"{str(refused).rstrip('.')} (hideseek ledger show {path}, hideseek ledger budget {path})."
        raise OverBudget(told) from None
