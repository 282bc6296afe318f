"""How often an attack that finds nothing is said to have found something, and how often one that does.

    python benchmarks/false_alarms.py [--quick] [--only KIND] [--runs N] [--add FILE] [--json FILE] [--markdown FILE]

Every kind of claim is made by attacks that ignore the release (nulls), again and again about new images and keys, and
judged as in an audit of this one attack: a false alarm is a decisive figure that beats its baselines at 2.5 % over the
number of decisive figures. No null may be above 2.5 % beyond the 95 % interval of its runs (Clopper and Pearson),
corrected for how many nulls there are. Beside them: how often graded effects are found at the same level (power).
"""

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from false_alarm_cases import KINDS, Guess, Kind
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.stats import binomtest

from hideseek.chance import seeded
from hideseek.records import Evidence
from hideseek.records.result import Harm
from hideseek.score import confidence, other_truths
from hideseek.score.claims import CLAIMS
from hideseek.score.judge import judge
from hideseek.score.significance import LEVEL

RUNS, OF_EFFECTS, OF_LARGE, QUICK = 400, 100, 100, 20
LARGE = 500  # images from which there are fewer runs


@dataclass(frozen=True)
class Row:
    """How often one attack was said to find something."""

    kind: str
    what: str
    effect: bool
    images: int
    runs: int
    found: int
    broken: int
    """How often private images were said to be recovered or re-identified."""
    seconds: float

    @property
    def share(self) -> float:
        """Give the share of runs."""
        return self.found / self.runs

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Give the interval of the share, by Clopper and Pearson."""
        found = binomtest(self.found, self.runs).proportion_ci(confidence)
        return float(found.low), float(found.high)

    def errs(self, nulls: int) -> bool:
        """Tell whether a null was found too often, among so many nulls."""
        return not self.effect and self.interval(1 - 0.05 / nulls)[0] > LEVEL


def found_by(kind: Kind, guess: Guess, images: int, run: int) -> tuple[bool, bool]:
    """Make a claim about a new release; tell whether it is said to find something, and to break the scheme."""
    chance = np.random.default_rng((run, images))
    secret = kind.hide(images, chance)
    claim = kind.claim(secret, guess(secret, chance))
    decisive = CLAIMS[claim.name].decisive
    scores = judge(Evidence((claim,)), secret, seeded(run), list(decisive)).scores
    harms = {decisive[score.metric] for score in scores if score.beats_at(LEVEL / len(scores))}
    return bool(harms), any(harm.breaks for harm in harms if isinstance(harm, Harm))


def rows(kinds: dict[str, Kind], runs: int, *, quick: bool) -> Iterator[Row]:
    """Run every null and every effect of some kinds."""
    for name, kind in kinds.items():
        for images in kind.sizes:
            if quick and images >= LARGE:
                continue
            for effect, guesses in ((False, kind.nulls), (True, kind.effects)):
                most = min(runs, OF_LARGE if images >= LARGE else OF_EFFECTS if effect else runs)
                for what, guess in guesses.items():
                    start = time.process_time()
                    told = [found_by(kind, guess, images, run) for run in range(most)]
                    found, broken = sum(some for some, _ in told), sum(all_of_it for _, all_of_it in told)
                    yield Row(name, what, effect, images, most, found, broken, round(time.process_time() - start, 1))


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--quick", action="store_true", help=f"{QUICK} runs of each, which tells little, in a minute or two"
    )
    parser.add_argument("--only", choices=list(KINDS), action="append", help="these kinds of claims alone")
    parser.add_argument("--runs", type=int, help=f"runs of each null, {RUNS} by default")
    parser.add_argument("--add", type=Path, action="append", default=[], help="figures that another process measured")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--markdown", type=Path, help="write the table to this file")
    asked = parser.parse_args()
    confidence.DRAWS = 2  # intervals are not looked at here
    other_truths.DRAWS = other_truths.FEWEST_DRAWS  # as for large releases
    kinds = {name: kind for name, kind in KINDS.items() if asked.only is None or name in asked.only}
    runs = asked.runs or (QUICK if asked.quick else RUNS)
    found = list(
        track(rows(kinds, runs, quick=asked.quick), "judging", total=_count(kinds), console=Console(stderr=True))
    )
    found = [Row(**row) for file in asked.add for row in json.loads(file.read_text("utf-8"))] + found
    nulls = sum(not row.effect for row in found)
    for effect in (False, True):
        show([row for row in found if row.effect is effect], nulls)
    if asked.json is not None:
        asked.json.write_text(json.dumps([asdict(row) for row in found], indent=1, ensure_ascii=False) + "\n")
    if asked.markdown is not None:
        asked.markdown.write_text(markdown(found, nulls))
    if erring := [f"{row.kind}: {row.what}, {row.images} images" for row in found if row.errs(nulls)]:
        raise SystemExit("too many false alarms by " + "; ".join(erring))


def _count(kinds: dict[str, Kind]) -> int:
    return sum(len(kind.sizes) * (len(kind.nulls) + len(kind.effects)) for kind in kinds.values())


def cells(row: Row, nulls: int) -> tuple[str, ...]:
    """Give a line of the table."""
    low, high = row.interval()
    verdict = "" if row.effect else "too often" if row.errs(nulls) else "as stated"
    shares = (f"{row.share:.1%}", f"{low:.1%} to {high:.1%}", f"{row.broken / row.runs:.1%}")
    return row.kind, row.what, str(row.images), str(row.runs), *shares, verdict


HEAD = ("claim", "attack", "images", "runs", "found", "95 % interval", "broken", "false alarms")


def show(found: list[Row], nulls: int) -> None:
    """Print a table."""
    if not found:
        return
    table = Table(*HEAD, title="effects" if found[0].effect else f"nulls, of which {LEVEL:.1%} may be found")
    for row in found:
        table.add_row(*cells(row, nulls))
    Console(width=max(130, Console().width)).print(table)


def markdown(found: list[Row], nulls: int) -> str:
    """Write both tables."""
    lines = ["# False alarms, and power", "", *(__doc__ or "").splitlines()[4:]]
    for effect, title in ((False, f"Nulls: at most {LEVEL:.1%} may be found"), (True, "Effects")):
        head = HEAD if not effect else HEAD[:-1]
        lines += ["", f"## {title}", "", f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
        lines += [f"| {' | '.join(cells(row, nulls)[: len(head)])} |" for row in found if row.effect is effect]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
