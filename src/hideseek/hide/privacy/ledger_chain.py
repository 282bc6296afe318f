"""Whether a ledger is as it was written: which entries were edited or removed."""

from collections.abc import Mapping, Sequence

from hideseek.hide.privacy.ledger_entries import Contents, contents_of
from hideseek.hide.privacy.ledger_head import FIRST, NOTHING, Head
from hideseek.hide.privacy.ledger_key import LedgerKey
from hideseek.hide.privacy.ledger_store import Line


def checked(
    found: Sequence[Line], sets: Mapping[str, bytes], key: LedgerKey, head: Head | None
) -> tuple[Contents, list[str]]:
    """Give what a ledger says, as far as its seals hold, and what is wrong with it.

    seal_n = MAC(n, seal_(n−1), body_n): who changes an entry cannot seal it again, and who removes one leaves a gap or
    a seal that belongs to another. Entries that are missing at the end show in the head alone.
    """
    wrong = []
    good: dict[int, str] = {}
    before, expected = FIRST, 0
    for line in found:
        if line.number != expected:
            missing = f"entry {expected}" if line.number == expected + 1 else f"entries {expected} to {line.number - 1}"
            wrong.append(f"{missing} {'was' if line.number == expected + 1 else 'were'} removed")
            good[line.number] = line.body  # nobody can tell
        elif line.seal != key.seal(line.number, before, line.body):
            wrong.append(f"entry {line.number} was edited, or belongs to another key or place")
        else:
            good[line.number] = line.body
        before, expected = line.seal, line.number + 1
    wrong += _of_head(found, key, head)
    contents = contents_of(good if not wrong else _readable(good), sets)
    for entry in contents.entries:
        images = sets.get(entry.image_set)
        if images is None or key.image_set(images) != entry.image_set:
            wrong.append(f"the images of entry {entry.number} were edited")
    return contents, wrong


def _of_head(found: Sequence[Line], key: LedgerKey, head: Head | None) -> list[str]:
    """Tell what the head says about the end."""
    if head is None:
        return ["its head is missing or damaged, so that nobody can tell whether entries at its end were removed"]
    seals = {NOTHING: FIRST, **{line.number: line.seal for line in found}}
    last = max(seals)
    if head.number > last:
        count = head.number - last
        return [f"the last {'entry was' if count == 1 else f'{count} entries were'} removed"]
    if head.number not in seals or key.head(head.number, seals[head.number]) != head.digest:
        return ["its head does not belong to it: the end of the ledger, or the head, was changed"]
    return []


def _readable(bodies: Mapping[int, str]) -> dict[int, str]:
    """Keep what can be read of a ledger that was changed."""
    kept = {}
    for number, body in bodies.items():
        try:
            contents_of({number: body}, {})
        except (KeyError, TypeError, ValueError, AttributeError):
            continue
        kept[number] = body
    return kept
