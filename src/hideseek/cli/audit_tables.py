"""An audit's plan and its result as tables on the terminal."""

from pathlib import Path
from typing import TYPE_CHECKING

from hideseek.cli.terminal import Cell, Column, Styled, paragraph, say, table
from hideseek.records.result import (
    Accuracy,
    NoAccuracy,
    NoAccuracyKind,
    Outcome,
    Result,
    SchemeResult,
    StepKey,
    StepKind,
    Verdict,
)
from hideseek.report import sentences
from hideseek.report.epochs import metrics_over_epochs, over_epochs
from hideseek.report.ranking import FOUND, worst_attack

if TYPE_CHECKING:
    from hideseek.audit import Plan, Question

STYLES = {
    Outcome.BROKEN: "bold red",
    Outcome.CONFIRMED: "bold red",
    Outcome.LEAKS: "yellow",
    Outcome.RESISTED: "default",
}
"""Colours of what is known; what is not, or does not apply, is dim."""


def show_plan(plan: "Plan", question: "Question") -> None:
    """Print what will be done, and what each step is expected to take."""
    rows: list[list[Cell]] = []
    attacks = [StepKey(StepKind.ATTACK, attack=attack) for attack in question.attacks]
    for key in (StepKey(StepKind.HIDE), *attacks, StepKey(StepKind.ADVICE)):
        keys = [StepKey(key.kind, name, key.attack) for name in question.schemes]
        if key.kind is StepKind.ADVICE and not any(step.key in keys for step in plan.steps):
            continue
        rows.append([sentences.step(key), *(_expected(plan, each) for each in keys)])
    table(
        [Column("step", whole=True), *(Column(name, right=True, fold=True) for name in question.schemes)], rows, "Plan"
    )
    learning = next((step for step in plan.steps if step.key.kind is StepKind.ACCURACY), None)
    if learning is not None:
        said = sentences.planned(learning.key, learning.expected)
    else:
        said = sentences.no_accuracy(question.why_no_accuracy or NoAccuracy(NoAccuracyKind.NOT_ASKED))
    paragraph(said)
    if plan.unjudged:
        paragraph(sentences.unjudged(plan.unjudged))
    paragraph(sentences.expected(plan.expected, plan.budget, plan.least))
    paragraph(sentences.at_most(plan.wall_limit))


def _expected(plan: "Plan", key: StepKey) -> Cell:
    step = next((each for each in plan.steps if each.key == key), None)
    if step is None:
        return Styled("not applicable", "dim") if key in plan.refused else ""
    if step.left_out:
        return Styled("if time is left", "dim")
    seconds = sentences.duration(step.expected)
    if key.kind is not StepKind.ATTACK or step.share == 1:
        return seconds
    return f"{seconds}, {'least settings' if step.share == 0 else 'shortened'}"


def show_result(result: Result, folder: Path) -> None:
    """Print one table, the verdict in one sentence, the worst of each scheme, and where the page is."""
    columns = [Column("scheme", fold=True), Column("accuracy", right=True, whole=True)]
    rows: list[list[Cell]] = []
    if result.vanilla is not None:
        none = ["" for _ in result.threats]
        rows.append(["nothing hidden", _marked(result.vanilla, ""), *none])
        if result.vanilla.largest_class is not None:
            rows.append(["always the largest class", sentences.number(result.vanilla.largest_class, "share"), *none])
    for scheme in result.schemes:
        outcomes = {verdict.threat: _colour(verdict) for verdict in scheme.verdicts}
        verdicts = [outcomes.get(threat.name, "") for threat in result.threats]
        rows.append([scheme.name, _accuracy(scheme), *verdicts])
    table([*columns, *(Column(threat.name) for threat in result.threats)], rows)
    _show_epochs(result)
    for said in _sentences(result):
        paragraph(said)
    _places(folder)


def _show_epochs(result: Result) -> None:
    """Print what the strongest attack finds in each state of a model, where there are several."""
    metrics, rows = metrics_over_epochs(result), []
    for name, points in over_epochs(result).items():
        for point in points:
            found = [point.figures[metric][1] if metric in point.figures else None for metric in metrics]
            told: list[Cell] = [sentences.number(each.found.mean, each.unit) if each else "" for each in found]
            reached = sentences.number(point.state.accuracy.mean, "share")
            rows.append([name, str(point.state.epoch), reached, *told])
    if rows:
        columns = [Column("scheme", fold=True), Column("epoch", right=True), Column("trained images right", right=True)]
        table([*columns, *(Column(metric, right=True) for metric in metrics)], rows, "Leakage over epochs")


def _sentences(result: Result) -> list[str]:
    """Say what the table does not: who attacks, the verdict, the worst, what would help, and what to distrust."""
    said = [sentences.attackers_by_name(result.threats), sentences.truth(result.truth), sentences.headline(result)]
    said = [each for each in said if each] + sentences.alarms(result.schemes)
    for scheme in result.schemes:
        said += _worst(scheme, result)
        said += [each for each in (sentences.most_exposed_images(scheme),) if each]
        said += [sentences.advised(scheme.name, advice) for advice in scheme.advice if advice.helps is not None]
    if result.why_no_accuracy is not None:
        said.append(sentences.no_accuracy(result.why_no_accuracy))
    if result.flags:
        said.append(sentences.distrusted(result.flags))
    return said


def _places(folder: Path) -> None:
    say(f"The page:     {(folder / 'report.html').resolve()}")
    say(f"All figures:  {(folder / 'result.json').resolve()}")
    paragraph(sentences.may_be_shared(str(folder / "pictures")))


def _colour(verdict: Verdict) -> Cell:
    """Write an outcome in its colour, with what stands beside it."""
    style, beside = STYLES.get(verdict.outcome, "dim"), sentences.beside(verdict)
    outcome = Styled(verdict.outcome, style)
    return [outcome, Styled(f" ({beside})", "dim")] if beside else outcome


def _accuracy(scheme: SchemeResult) -> Cell:
    if scheme.accuracy is None:
        return ""
    return _marked(scheme.accuracy, "" if scheme.lost is None else f" ({sentences.gained(-scheme.lost)})")


def _marked(measured: Accuracy, gained: str) -> Cell:
    """Write an accuracy, and mark one that does not exceed what the largest class alone would score."""
    share = f"{sentences.number(measured.accuracy.mean, 'share')}{gained}"
    return share if measured.exceeds_largest_class else [share, Styled(f" {sentences.not_above(measured)}", "yellow")]


def _worst(scheme: SchemeResult, result: Result) -> list[str]:
    """Say what the worst attack found, and what it cost, where one found anything."""
    worst = worst_attack(scheme)
    if worst is None or worst.outcome not in FOUND:
        return []
    return [sentences.worst(scheme.name, worst, result.private.images, result.threats)]
