"""A judgement as a table on the terminal."""

from collections.abc import Iterable

from hideseek.cli.terminal import Cell, Column, Styled, paragraph, table, width
from hideseek.records import Evidence
from hideseek.records.result import Note, Range
from hideseek.report import sentences
from hideseek.score.claims import CLAIMS
from hideseek.score.confidence import FEWEST, Interval
from hideseek.score.judge import Judgement, Score

WIDE = 120  # columns that all baselines need


def show(attack: str, evidence: Evidence, judgement: Judgement) -> None:
    """Print what an attack cost, a table for each of its claims, and why metrics were left out."""
    took = sentences.cost(evidence.seconds, evidence.memory)
    paragraph(Styled(attack, "bold"), f" ({took})")
    if not evidence.claims:
        paragraph("It claims nothing, so there is nothing to score.")
    for number in sorted({score.number for score in judgement.scores}):
        scores = [score for score in judgement.scores if score.number == number]
        _show_claim(scores, width() >= WIDE)
        for note in _notes(scores):
            paragraph(note)
    reasons: dict[str, list[str]] = {}
    for skipped in judgement.skipped:
        reasons.setdefault(skipped.reason, []).append(skipped.metric)
    for reason, metrics in reasons.items():
        paragraph(f"Without {', '.join(metrics)}: {reason}")


def show_failed(attack: str, error: str, what: str = "failed") -> None:
    """Print that an attack failed: that is no sign of privacy."""
    paragraph(Styled(attack, "bold"), f" {what}: {error}")


def _show_claim(scores: list[Score], wide: bool) -> None:
    """Print the scores of one claim beside all baselines, or beside the best where the terminal is narrow."""
    baselines = list(dict.fromkeys(baseline for score in scores for baseline in score.baselines)) if wide else []
    counts = " or ".join(f"{count:,}" for count in sorted({len(score.values) for score in scores}))
    title = f"{scores[0].claim} of {counts}; the attacker wants ↑ high, ↓ low"
    columns = [
        Column("metric", whole=True),
        Column("mean and 95 % interval", right=True, whole=True),
        *(Column(baseline, right=True, widest=13) for baseline in baselines or ["best baseline"]),
        Column("verdict", narrowest=18),  # "beats its baseline" on one line
    ]
    rows: list[list[Cell]] = []
    for score in scores:
        metric = CLAIMS[score.claim].metrics[score.metric]
        found = score.interval
        limits = sentences.span(Range(found.mean, found.low, found.high, found.count), metric.unit)
        beside = [score.baselines.get(baseline) for baseline in baselines or [score.best_baseline]]
        rows.append(
            [
                f"{score.metric} {'↑' if metric.higher_is_better else '↓'}",
                [Styled(sentences.number(found.mean, metric.unit), "bold"), f" ({limits})"],
                *(_baseline(each, metric.unit) for each in beside),
                Styled(_verdict(score), "bold" if score.beats else ""),
            ]
        )
    table(columns, rows, title)


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
    return [f"{', '.join(metrics)}: {sentences.note(note)}" for note, metrics in about.items()]
