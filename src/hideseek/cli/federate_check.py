"""`hideseek federate check PROJECT`: a federated project's privacy settings, stated ε beside real ε."""

import dataclasses
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from hideseek.cli.arguments import parse
from hideseek.cli.terminal import Column, Styled, paragraph, table
from hideseek.errors import BadInput
from hideseek.federate.claims import Assumptions, Report, Setting, check_project
from hideseek.federate.claims.check import FLOWER, NVFLARE
from hideseek.federate.claims.wording import rounds_in_words, written
from hideseek.files import new_file, read_record

FINDING = 4  # the exit code where a stated ε is below the real one; 1 to 3 are those of every command
KEYS = {"project", "kind", "rounds", "settings"}  # of a report in JSON
STYLES = {"does not hold": "bold red", "not known": "yellow", "holds": "green", "no ε stated": ""}


@dataclass(frozen=True)
class Check:
    """Recompute what the privacy settings of a Flower project or an NVFlare job promise.

    The project is read, and nothing of it is run. Settings are Flower's LocalDpMod, its strategies with central
    differential privacy and their mods, SecAgg+, NVFlare's filters, and Opacus in clients. The exit code is 0 if all
    that is stated holds, 4 if a real ε is above the stated one, and 1 if something could not be read or computed.

    Try:  hideseek federate check my-flower-app --json claims.json
    """

    project: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="PROJECT")]
    """The folder of the project: with pyproject.toml, or with app/config/config_fed_client.json."""
    delta: float = 1e-5
    """δ, where a setting states none."""
    rounds: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="(default: the project's)")] = None
    """Rounds of the run."""
    stated_for: Literal["run", "round"] = "run"
    """What a stated ε is taken to be for: the whole run, or one round of it."""
    neighbours: Literal["removed", "replaced"] = "removed"
    """What Flower's settings hide: whether a client sent an update at all, or which one (twice the change)."""
    parameters: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """How many values an update has (for SVTPrivacy)."""
    sample_rate: Annotated[float | None, tyro.conf.arg(metavar="Q")] = None
    """The share of a client's examples in a batch (for Opacus)."""
    local_steps: Annotated[int | None, tyro.conf.arg(metavar="N")] = None
    """Steps of a client in a round (for Opacus)."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Write all of it as JSON, too; a report of this command that is there is replaced, and nothing else."""


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments, and check; a finding ends the program with its code."""
    code = check(parse(Check, "hideseek federate check", arguments))
    if code:
        raise SystemExit(code)


def check(asked: Check) -> int:
    """Check a project, print the table, and give the exit code."""
    if asked.json is not None:
        _check_place(asked.json)
    names = {field.name for field in dataclasses.fields(Assumptions)}
    report = check_project(asked.project, Assumptions(**{name: getattr(asked, name) for name in names}))
    if asked.json is not None:
        with new_file(asked.json) as file:
            file.write((json.dumps(as_json(report), indent=2, ensure_ascii=False) + "\n").encode())
    _show(report)
    if report.broken:
        return FINDING
    if report.unknown:
        count = "1 setting" if len(report.unknown) == 1 else f"{len(report.unknown)} settings"
        first = report.unknown[0]
        raise BadInput(f"{count} could not be computed; the first is {first.setting} ({first.place}), {first.reason}")
    return 0


def _check_place(path: Path) -> None:
    """Refuse to write over what is no report of this command."""
    if not path.exists() and not path.is_symlink():
        return
    try:
        found = None if path.is_symlink() else read_record(path)
    except (BadInput, OSError, ValueError):
        found = None
    if not isinstance(found, dict) or set(found) != KEYS or found["kind"] not in (FLOWER, NVFLARE):
        raise BadInput(f"{path} exists already, and is no report of this command: choose another name for --json.")


def as_json(report: Report) -> dict[str, Any]:
    """Give a report as JSON, in which an ε without bound is a word."""
    settings = [
        {name: "infinite" if value == math.inf else value for name, value in dataclasses.asdict(each).items()}
        for each in report.settings
    ]
    return {"project": report.project, "kind": report.kind, "rounds": report.rounds, "settings": settings}


def _show(report: Report) -> None:
    """Print the table, and in a sentence what it comes to."""
    paragraph(f"{report.project}: {report.kind}, {rounds_in_words(report.rounds)}.")
    if not report.settings:
        paragraph("No privacy setting was found: nothing is promised, and updates leave as they are.")
        return
    columns = [
        Column("Setting", fold=True, widest=38),
        Column("Where", fold=True, widest=24),
        Column("Stated ε", right=True),
        Column("A round", right=True),
        Column("The run", right=True),
        Column("δ", right=True),
        Column("Verdict", whole=True),
        Column("Why, and assuming what"),
    ]
    table(columns, [_row(each) for each in report.settings])
    broken, unknown = len(report.broken), len(report.unknown)
    if broken:
        paragraph(Styled(f"Settings that do not hold: {broken} of {len(report.settings)}.", "bold"))
    elif not unknown:
        stated = any(each.verdict == "holds" for each in report.settings)
        paragraph("Every ε that is stated holds." if stated else "No ε is stated.")
    paragraph("Metrics and numbers of examples that clients also send are covered by none of these settings.")


def _row(each: Setting) -> list[Any]:
    more = "≥ " if each.at_least else ""
    real = [f"{more}{written(value)}" if value is not None else "" for value in (each.round_epsilon, each.run_epsilon)]
    stated = written(each.stated_epsilon)
    if each.stated_delta:
        stated += f" (δ = {each.stated_delta:g})"
    assuming = f" Assuming: {each.assumption}." if each.assumption and each.round_epsilon != math.inf else ""
    return [
        each.setting,
        each.place,
        stated or "none",
        *real,
        "" if each.delta is None else f"{each.delta:g}",
        Styled(each.verdict, STYLES[each.verdict]),
        each.reason[:1].upper() + each.reason[1:] + assuming,
    ]
