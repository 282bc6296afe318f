"""A judgement as a table on the terminal."""

import sys
from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hideseek.records import Evidence
from hideseek.records.result import Note, Range
from hideseek.report import sentences
from hideseek.score.claims import CLAIMS
from hideseek.score.confidence import FEWEST, Interval
from hideseek.score.judge import Judgement, Score

WIDE = 120  # columns that all baselines need
WIDTH = 200  # columns, where the output is not a terminal


def show(attack: str, evidence: Evidence, judgement: Judgement) -> None:
    """Print what an attack cost, a table for each of its claims, and why metrics were left out."""
    screen = console()
    took = sentences.cost(evidence.seconds, evidence.memory)
    screen.print(f"[bold]{escape(attack)}[/bold] ({took})", highlight=False)
    if not evidence.claims:
        screen.print("It claims nothing, so there is nothing to score.")
    for number in sorted({score.number for score in judgement.scores}):
        scores = [score for score in judgement.scores if score.number == number]
        screen.print(_table(scores, screen.width >= WIDE))
        for note in _notes(scores):
            screen.print(note, highlight=False)
    reasons: dict[str, list[str]] = {}
    for skipped in judgement.skipped:
        reasons.setdefault(skipped.reason, []).append(skipped.metric)
    for reason, metrics in reasons.items():
        screen.print(f"Without {escape(', '.join(metrics))}: {escape(reason)}", highlight=False)


def show_failed(attack: str, error: str, what: str = "failed") -> None:
    """Print that an attack failed: that is no sign of privacy."""
    console().print(f"[bold]{escape(attack)}[/bold] {what}: {escape(error)}", highlight=False)


def console() -> Console:
    """Give the terminal, or a wide page where the output goes elsewhere."""
    return Console(file=sys.stdout, width=None if sys.stdout.isatty() else WIDTH)


def _table(scores: list[Score], wide: bool) -> Table:
    """Draw the scores of one claim beside all baselines, or beside the best where the terminal is narrow."""
    baselines = list(dict.fromkeys(baseline for score in scores for baseline in score.baselines)) if wide else []
    counts = " or ".join(f"{count:,}" for count in sorted({len(score.values) for score in scores}))
    title = f"{scores[0].claim} of {counts}; the attacker wants ↑ high, ↓ low"
    table = Table(title=title, title_justify="left", title_style="", header_style="", box=box.SIMPLE_HEAD)
    table.add_column("metric", no_wrap=True)
    table.add_column("mean and 95 % interval", justify="right", no_wrap=True)
    for baseline in baselines or ["best baseline"]:
        table.add_column(baseline, justify="right", max_width=13)
    table.add_column("verdict", min_width=18)  # "beats its baseline" on one line
    for score in scores:
        metric = CLAIMS[score.claim].metrics[score.metric]
        found = score.interval
        limits = sentences.span(Range(found.mean, found.low, found.high, found.count), metric.unit)
        table.add_row(
            f"{score.metric} {'↑' if metric.higher_is_better else '↓'}",
            f"[bold]{sentences.number(found.mean, metric.unit)}[/bold] ({limits})",
            *(_baseline(score.baselines.get(baseline), metric.unit) for baseline in baselines or [score.best_baseline]),
            f"[bold]{_verdict(score)}[/bold]" if score.beats else _verdict(score),
        )
    return table


def _baseline(baseline: Interval | None, unit: str) -> str:
    return "" if baseline is None else sentences.number(baseline.mean, unit)


def _verdict(score: Score) -> str:
    """Say in words whether the attack found anything.

    A baseline is beaten image by image: means whose intervals overlap may still differ surely.
    """
    if score.advantage is None:
        return "no baseline to compare with"
    if score.beats:
        return "beats its baseline"
    if score.advantage.count < FEWEST:
        return "too few images to say"
    return f"no better than {score.best_baseline}"


def _notes(scores: Iterable[Score]) -> list[str]:
    """Give each note once, with the metrics that it is about."""
    about: dict[Note, list[str]] = {}
    for score in scores:
        for note in score.notes:
            about.setdefault(note, []).append(score.metric)
    return [f"{escape(', '.join(metrics))}: {escape(sentences.note(note))}" for note, metrics in about.items()]
