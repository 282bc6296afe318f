"""`hideseek ledger verify`: whether a ledger is as it was written, and what is known of each release's end."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import FlagCreatePairsOff, Positional, UseAppendAction, arg

from hideseek.cli.arguments import parse
from hideseek.cli.ledger_book import file_digest
from hideseek.cli.ledger_show import must_be_known
from hideseek.cli.terminal import say
from hideseek.data.source_images import each_source
from hideseek.hide.files.release_files import release_digest
from hideseek.hide.privacy.ledger import Ledger
from hideseek.hide.privacy.ledger_entries import Contents, Entry
from hideseek.hide.privacy.ledger_summary import summary
from hideseek.report import sentences

CHANGED = 4  # the exit code of a ledger that was changed, or a release without its entry


@dataclass(frozen=True)
class Verify:
    """Tell whether a ledger is as it was written: which entries were edited or removed, at its end too.

    Every entry is sealed by the key beside the ledger, together with the entry before. Entries that were not finished
    are named, with what is at their place, and so are releases that are not where they were written: neither is an
    error. The exit code is 4 where the ledger was changed, or a release that was named has no entry.
    Who has the key can write anything; who puts an older copy of all three files back is not noticed.

    Try:  hideseek ledger verify ledger.db --data folder:xrays --release hidden
    """

    file: Annotated[Path, Positional, arg(metavar="FILE")]
    """The ledger."""
    data: Annotated[str | None, arg(metavar="SET", help_behavior_hint="")] = None
    """Tell whether it is the ledger of these images: folder:, dicom: or npz:PATH, or a name."""
    release: Annotated[tuple[Path, ...], UseAppendAction, arg(metavar="DIR", help_behavior_hint="")] = ()
    """A release that must have its entry; may be given several times."""
    json: Annotated[bool, FlagCreatePairsOff, arg(help_behavior_hint="")] = False
    """Print all of it as JSON."""


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments, and verify; a finding ends the program with its code."""
    asked = parse(Verify, "hideseek ledger verify", arguments)
    ledger = Ledger.unchecked(asked.file)
    contents, wrong = ledger.examine()
    if asked.data is not None and not wrong:
        known = each_source(asked.data, ledger.key.image, ledger.key.patient)
        must_be_known(summary(contents, known), asked.file, asked.data)
    wrong += [f"{folder} has no entry" for folder in asked.release if not has_entry(contents, folder)]
    notes = [note for entry in contents.entries for note in _notes(entry)]
    if asked.json:
        found = {"entries": len(contents.entries), "wrong": wrong, "notes": notes}
        say(*json.dumps(found, indent=1, ensure_ascii=False).split("\n"))
    else:
        say(*(f"{note[:1].upper()}{note[1:]}." for note in notes))
        say(*(f"Wrong: {each}." for each in wrong))
        if not wrong:
            say(f"The ledger {asked.file} is as it was written: {sentences.counted(len(contents.entries), 'release')}.")
    if wrong:
        raise SystemExit(CHANGED)


def has_entry(contents: Contents, folder: Path) -> bool:
    """Tell whether a release is in a ledger."""
    digest = release_digest(folder)
    return any(entry.leaving.release == digest for entry in contents.entries)


def _notes(entry: Entry) -> Iterator[str]:
    """Name what was not finished, and what is not at its place."""
    leaving = entry.leaving
    there = _is_there(entry)
    if not entry.finished:
        place = f"what was to be at {leaving.where} is {'there' if there else 'not there'}" if leaving.where else ""
        sure = f" ({place})" if place else ""
        yield f"entry {entry.number} ({leaving.kind}) was not finished{sure}: it counts as released, which is safe"
    elif leaving.where and not there:
        yield f"the release of entry {entry.number} is not at {leaving.where} any more, or was changed"


def _is_there(entry: Entry) -> bool:
    place, digest = Path(entry.leaving.where), entry.leaving.release
    if entry.leaving.kind == "hide":
        return (place / "release.json").is_file() and release_digest(place) == digest
    return place.is_file() and digest in ("", file_digest(place))
