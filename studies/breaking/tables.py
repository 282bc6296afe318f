"""What the parts of the study are asked for and how they degrade, as tables and plots."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Literal

from ledger import Ledger, shown, table
from matplotlib.figure import Figure

SHARE = 100.0  # percent


@dataclass(frozen=True)
class Target:
    """A figure that an attack is asked to reach."""

    attack: str
    case: str
    trials: str
    """The name of the trials, without the seed."""
    figure: str
    asked: float
    unit: Literal["%", "", "s", "images"] = "%"
    prototype: str = "–"
    published: str = "–"
    at_most: bool = False

    def row(self, ledger: Ledger) -> list[str]:
        """Give a line of the table: what is asked, what was reached, and what others reached."""
        factor = SHARE if self.unit == "%" else 1.0
        values = [factor * each for each in figures(ledger, self.trials, self.figure)]
        digits = 1 if self.unit in ("%", "s", "images") else 2
        mark = next(filter(None, map(ledger.mark, seeds(ledger, self.trials))), "")
        reached = f"{_spread(values, digits)} {self.unit}".strip() + mark
        met = "–" if not values else "yes" if self.met(mean(values)) else "**no**"
        sign = "≤" if self.at_most else "≥"
        asked = f"{sign} {self.asked:g} {self.unit}".strip()
        return [
            self.attack,
            self.case,
            self.figure,
            asked,
            reached,
            met,
            self.prototype,
            self.published,
        ]

    def met(self, value: float) -> bool:
        """Tell whether a mean over seeds is what was asked."""
        return value <= self.asked if self.at_most else value >= self.asked


HEADS = ("attack", "case", "figure", "asked", "reached", "met", "prototype", "published")


@dataclass(frozen=True)
class Curve:
    """How a figure changes: a name for the legend, and the name of the trials for every x."""

    name: str
    points: Mapping[float | str, str]
    figure: str


@dataclass(frozen=True)
class Plot:
    """Curves over one setting."""

    name: str
    title: str
    x: str
    y: str
    curves: Sequence[Curve]
    logarithmic: bool = False

    def draw(self, ledger: Ledger, path: Path) -> bool:
        """Draw what was measured; where nothing was, draw nothing."""
        canvas = Figure(figsize=(7, 4.2), dpi=120, layout="constrained")
        axes = canvas.subplots()
        drawn = False
        for number, curve in enumerate(self.curves):
            points = {x: figures(ledger, trials, curve.figure) for x, trials in curve.points.items()}
            points = {x: values for x, values in points.items() if values}
            if not points:
                continue
            drawn, places = True, list(points)
            means = [mean(values) for values in points.values()]
            spread = [[mean(v) - min(v) for v in points.values()], [max(v) - mean(v) for v in points.values()]]
            axes.errorbar(places, means, spread, fmt="osD^v<>p"[number % 8] + "-", label=curve.name, capsize=3)
        if drawn:
            axes.set(title=self.title, xlabel=self.x, ylabel=self.y, ylim=(-0.03, 1.05))
            if self.logarithmic:
                axes.set_xscale("log")
                ticks = sorted({x for curve in self.curves for x in curve.points if not isinstance(x, str)})
                axes.set_xticks(ticks, [f"{x:,g}" for x in ticks])
                axes.minorticks_off()
            axes.grid(alpha=0.3)
            axes.legend(fontsize="small")
            canvas.savefig(path)
        return drawn


def figures(ledger: Ledger, trials: str, figure: str) -> list[float]:
    """Give a figure of every seed of some trials, as far as they were run."""
    results = [ledger.entries[name]["result"] for name in seeds(ledger, trials)]
    return [float(each[figure]) for each in results if isinstance(each.get(figure), int | float)]


def seeds(ledger: Ledger, trials: str) -> list[str]:
    """Give the names of the trials of every seed."""
    return [name for name in ledger.entries if name == trials or name.startswith(f"{trials}, seed ")]


def targets(ledger: Ledger, asked: Sequence[Target]) -> str:
    """Write what was asked beside what was reached."""
    return table(HEADS, [each.row(ledger) for each in asked])


def _spread(values: Sequence[float], digits: int) -> str:
    if digits == 1 or not values:
        return shown(values)
    return f"{mean(values):.{digits}f}" + (
        f" ({min(values):.{digits}f}–{max(values):.{digits}f})" if len(values) > 1 else ""
    )
