"""`hideseek ledger show`: what was released, how often, under which proof, and what is left."""

import dataclasses
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import FlagCreatePairsOff, Positional, arg

from hideseek.cli.arguments import parse
from hideseek.cli.terminal import Column, say, table
from hideseek.data.source_images import each_source
from hideseek.errors import BadInput
from hideseek.hide.privacy.ledger import Ledger
from hideseek.hide.privacy.ledger_entries import Contents, Entry
from hideseek.hide.privacy.ledger_summary import Summary, summary

COLUMNS = (
    Column("Entry", right=True),
    Column("Time (UTC)", whole=True),
    Column("What", whole=True),
    Column("Scheme", fold=True, widest=28),
    Column("Images", right=True),
    Column("Rounds", right=True),
    Column("Proof", whole=True),
    Column("μ", right=True),
    Column("ε, δ", right=True),
    Column("State", whole=True),
)


@dataclass(frozen=True)
class Show:
    """List the releases in a ledger: what each spends of an image by its proof, and what all of them come to.

    μ² of releases adds up. Those of DP-SGD also have (ε, δ), which adds up too; of both sums the better one counts, and
    either is an upper bound. A release that was not finished may not have left, and counts.

    Try:  hideseek ledger show ledger.db
          hideseek ledger show ledger.db --data folder:xrays    # these images alone
    """

    file: Annotated[Path, Positional, arg(metavar="FILE")]
    """The ledger."""
    data: Annotated[str | None, arg(metavar="SET", help_behavior_hint="")] = None
    """Sum up for these images alone: folder:, dicom: or npz:PATH, or a name."""
    delta: Annotated[float | None, arg(metavar="δ", help_behavior_hint="(default: the budget's)")] = None
    """Give ε at this δ."""
    json: Annotated[bool, FlagCreatePairsOff, arg(help_behavior_hint="")] = False
    """Print all of it as JSON."""


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments, and show."""
    asked = parse(Show, "hideseek ledger show", arguments)
    if asked.delta is not None and not 0 < asked.delta < 1:
        raise BadInput(f"--delta must be between 0 and 1, not {asked.delta:g}.")
    ledger = Ledger.open(asked.file)
    contents = ledger.read()
    images = None if asked.data is None else each_source(asked.data, ledger.key.image, ledger.key.patient)
    found = summary(contents, images, asked.delta)
    if images is not None:
        must_be_known(found, asked.file, str(asked.data))
    if asked.json:
        say(*json.dumps(as_json(contents, found), indent=1, ensure_ascii=False).split("\n"))
        return
    if contents.entries:
        table(COLUMNS, [_row(entry) for entry in contents.entries])
    say(f"The budget is {contents.budget.described()}.", found.sentence())


def must_be_known(found: Summary, file: Path, data: str) -> None:
    """Refuse a ledger that knows none of the images that it should be of."""
    if not found.known:
        raise BadInput(
            f"the ledger {file} knows none of the {found.images:,} images at {data}: it is of another data set, or none"
            " of them was released; name the ledger of these images."
        )


def as_json(contents: Contents, found: Summary) -> dict[str, Any]:
    """Give what a ledger says as JSON, without images; what is infinite is a word."""
    return {
        "budget": contents.budget.as_json(),
        "releases": [_plain(entry) for entry in contents.entries],
        "images": {
            name: "infinite" if value == math.inf else value
            for name, value in dataclasses.asdict(found).items()
            if name != "budget"
        },
    }


def _plain(entry: Entry) -> dict[str, Any]:
    leaving = vars(entry.leaving)
    about = {name: value for name, value in vars(entry).items() if name not in ("leaving", "image_set")}
    return about | leaving | {"spent": vars(entry.leaving.spent)}


def _row(entry: Entry) -> list[str]:
    leaving, spent = entry.leaving, entry.leaving.spent
    return [
        str(entry.number),
        entry.time.removesuffix("+00:00").replace("T", " "),
        leaving.kind,
        str(leaving.scheme.get("mechanism", "")),
        f"{entry.images:,}",
        str(leaving.rounds),
        spent.proof,
        "∞" if spent.mu2 is None else f"{math.sqrt(spent.mu2):.3g}",
        "" if spent.epsilon is None else f"{spent.epsilon:.3g}, {spent.delta:g}",
        "released" if entry.finished else "not finished",
    ]
