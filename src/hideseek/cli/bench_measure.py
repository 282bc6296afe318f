"""`hideseek bench rows|updates`: measure entries of the benchmark."""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import FlagCreatePairsOff, Positional, arg

from hideseek.bench import (
    BENCHMARKS,
    QUICK,
    STANDARD,
    Evidence,
    Track,
    flaws,
    measured,
    named,
    place_of,
    problem,
    read_entry,
    worst_of,
)
from hideseek.cli.arguments import parse
from hideseek.cli.terminal import say
from hideseek.report import sentences

ALL = "all"


@dataclass(frozen=True)
class BenchMeasure:
    """Measure ways of sharing by the fixed benchmark, and write an entry each.

    What is measured already stays; what was stopped goes on.
    """

    names: Annotated[str, Positional, arg(metavar="NAMES")]
    """Ways of sharing with commas between, with parameters, or all of the leaderboard."""
    out: Annotated[Path, arg(metavar="DIR")]
    """The folder to write entries into."""
    quick: Annotated[bool, FlagCreatePairsOff, arg(help_behavior_hint="")] = False
    """A few embedded photographs and a few attacks, to see that a scheme runs: no entry for a leaderboard."""


ABOUT: dict[Track, str] = {
    "rows": """Ways of sharing are schemes with parameters, as `hideseek audit` has them; none: images as they are.

Try:  hideseek bench rows mixup --quick --out entries
      hideseek bench rows instahide-inside:k=6,laplace:alpha=0.3 --out leaderboard/rows""",
    "updates": """Ways of sharing are chains of defences, as `hideseek audit updates` has them; none: no defence.

Try:  hideseek bench updates none,sign --quick --out entries
      hideseek bench updates gradient-pruning:p=0.95+sign --out leaderboard/updates""",
}


def run(verb: str, arguments: Sequence[str]) -> None:
    """Parse the arguments, and measure one entry after another."""
    track: Track = "rows" if verb == "rows" else "updates"
    about = inspect.cleandoc(BenchMeasure.__doc__ or "")
    asked = parse(BenchMeasure, f"hideseek bench {verb}", arguments, description=f"{about}\n\n{ABOUT[track]}")
    fixed = problem(QUICK[track] if asked.quick else BENCHMARKS[track])
    names = ",".join(STANDARD[track]) if asked.names == ALL else asked.names
    for name, scheme in named(names, fixed).items():
        place = place_of(asked.out, name)
        if there := place.exists():
            say(f"{name} is measured already.")
        found = read_entry(place) if there else measured(name, scheme, fixed, asked.out, say)
        _say_entry(found, quick=asked.quick)


def _say_entry(found: Evidence, *, quick: bool) -> None:
    """Say what an entry came to, and whether it may stand on a leaderboard."""
    entry, worst = found.entry, worst_of(found)
    say(
        f"{entry.name}: {sentences.number(entry.accuracy, 'share')} of new images are classified correctly; {worst}.",
        f"The entry is in {found.folder}.",
    )
    if lacks := flaws(found):
        say(f"It may not stand on a leaderboard: {'; '.join(lacks)}.")
    elif quick:
        say("It shows that the scheme runs, and may not stand on a leaderboard: leave out --quick.")
