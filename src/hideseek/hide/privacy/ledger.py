"""A ledger beside private images: how often each was released, under which proof, and what may still be released.

An entry is on the disk before what it is of leaves. A process that is killed in between leaves an entry without a
release, which counts as released: the mistake is on the safe side, and `verify` of the command line names it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from sqlite3 import Connection
from typing import Self

from hideseek.hide.privacy import ledger_store as store
from hideseek.hide.privacy.ledger_budget import Budget, Total
from hideseek.hide.privacy.ledger_chain import checked
from hideseek.hide.privacy.ledger_entries import BEGUN, BUDGET, FINISHED, Contents, Leaving, body_of, release_body
from hideseek.hide.privacy.ledger_errors import LedgerError, OverBudget
from hideseek.hide.privacy.ledger_head import FIRST, NOTHING, read_head, write_head
from hideseek.hide.privacy.ledger_key import LedgerKey, alone, make_key, read_key
from hideseek.hide.privacy.ledger_refusal import refusal
from hideseek.hide.privacy.ledger_totals import spends, totals


@dataclass(frozen=True)
class Ledger:
    """A ledger by its file; every call opens it anew, so that several processes may use it at once."""

    path: Path
    key: LedgerKey = field(repr=False)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a ledger that is there; a new one is begun by stating a budget, never by a misspelt name."""
        ledger = cls.unchecked(path)
        ledger.read()
        return ledger

    @classmethod
    def unchecked(cls, path: Path) -> Self:
        """Open a ledger that may have been changed, to examine it."""
        with store.reading(path):
            return cls(path, read_key(path))

    @classmethod
    def begin(cls, path: Path, budget: Budget) -> Self:
        """State the budget of a ledger, and begin the ledger if there is none."""
        head = read_head(path)
        if store.is_new(path) and head is not None and head.number != NOTHING:
            raise LedgerError(f"the ledger {path} is missing, and its head is here: bring it back from a backup.")
        if store.is_new(path):  # else a key that is missing must be found, not made
            make_key(path)
        ledger = cls(path, read_key(path))
        with alone(path), store.making(path) as (connection, new):
            if new:
                write_head(path, ledger.key, NOTHING, FIRST)
                ledger._append(connection, body_of(BEGUN, version=store.VERSION))
            ledger._contents(connection)
            ledger._append(connection, body_of(BUDGET, **budget.as_json()))
        ledger._write_head()
        return ledger

    def read(self) -> Contents:
        """Give all that the ledger says; one that was changed is refused."""
        contents, wrong = self.examine()
        return self._unchanged(contents, wrong)

    def examine(self) -> tuple[Contents, list[str]]:
        """Give all that the ledger says, as far as its seals hold, and what is wrong with it."""
        head = read_head(self.path)  # before the ledger, which may grow meanwhile
        with store.reading(self.path) as connection:
            return checked(store.lines(connection), store.image_sets(connection), self.key, head)

    def check(self, leaving: Leaving, images: Sequence[bytes]) -> Contents:
        """Refuse what is over the budget, without writing anything: before hours of work, not after."""
        contents = self.read()
        self._within(contents, leaving, images)
        return contents

    def add(self, leaving: Leaving, images: Sequence[bytes]) -> int:
        """Write down what is about to leave, and give its number; what is over the budget is refused.

        When this returns, the entry is on the disk. The same bytes of the same images again are the same entry.
        """
        joined = b"".join(sorted(images))
        name = self.key.image_set(joined)
        with store.writing(self.path) as connection:
            contents = self._contents(connection)
            for entry in contents.entries:
                if leaving.release and (leaving.release, name) == (entry.leaving.release, entry.image_set):
                    return entry.number
            self._within(contents, leaving, images)
            store.keep_set(connection, name, joined)
            number = self._append(connection, release_body(leaving, len(images), name))
        self._write_head()
        return number

    def finish(self, number: int, release: str = "") -> None:
        """Write down that a release has left, and its digest, if that was not known before."""
        with store.writing(self.path) as connection:
            if any(entry.number == number and entry.finished for entry in self._contents(connection).entries):
                return
            self._append(connection, body_of(FINISHED, of=number, release=release))
        self._write_head()

    def _contents(self, connection: Connection) -> Contents:
        """Read the ledger while it is being written; nothing is added to one that was changed."""
        return self._unchanged(
            *checked(store.lines(connection), store.image_sets(connection), self.key, read_head(self.path))
        )

    def _unchanged(self, contents: Contents, wrong: Sequence[str]) -> Contents:
        if wrong:
            more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
            raise LedgerError(
                f"the ledger {self.path} is not as it was written ({wrong[0]}{more}): nothing leaves before it is back"
                " from a backup."
            )
        return contents

    def _append(self, connection: Connection, body: str) -> int:
        found = store.lines(connection)
        number, before = (found[-1].number + 1, found[-1].seal) if found else (0, FIRST)
        store.append(connection, store.Line(number, body, self.key.seal(number, before, body)))
        return number

    def _write_head(self) -> None:
        """Write where the ledger ends, while nobody else writes."""
        with store.writing(self.path) as connection:
            *_, last = store.lines(connection)
            write_head(self.path, self.key, last.number, last.seal)

    def _within(self, contents: Contents, leaving: Leaving, images: Sequence[bytes]) -> None:
        copies = Counter(images)
        spent = totals(contents, copies)
        over: Counter[Total] = Counter()
        for (before, count), alike in Counter((spent[image], copies[image]) for image in copies).items():
            if not contents.budget.allows(before.plus(spends(leaving.spent, count, leaving.rounds))):
                over[before] += alike
        if over:
            raise OverBudget(refusal(contents.budget, leaving, over, len(copies)))
