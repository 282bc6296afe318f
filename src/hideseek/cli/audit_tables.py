"""An audit's plan and its result as tables on the terminal."""

from pathlib import Path

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hideseek.audit import Plan, Question
from hideseek.audit.planning.budget import in_words
from hideseek.cli.score_table import console
from hideseek.records.result import Result, SchemeResult
from hideseek.report.headline import headline, worst_attack


def show_plan(plan: Plan, question: Question) -> None:
    """Print what will be done, and what each part is expected to take."""
    screen = console()
    table = Table(title="Plan", title_justify="left", box=box.SIMPLE_HEAD, header_style="")
    table.add_column("what", no_wrap=True)
    for name in question.schemes:
        table.add_column(name, justify="right")
    for part in ("hide", *question.attacks, "change"):
        words = {"change": "what would help"}.get(part, part)
        table.add_row(words, *(_expected(plan, f"{name}/{part}") for name in question.schemes))
    learning = plan.piece("accuracy")
    screen.print(table)
    if learning is not None:
        screen.print(f"{learning.words}: {in_words(learning.expected)}".capitalize(), highlight=False)
    else:
        screen.print(
            escape(f"Accuracy is not measured: {question.why_no_accuracy or 'the budget leaves no time for it.'}"),
            highlight=False,
        )
    total, budget = in_words(plan.expected), in_words(question.budget)
    screen.print(f"Expected in all: {total}, of a budget of {budget}.", highlight=False)


def _expected(plan: Plan, key: str) -> str:
    piece = next((each for each in plan.pieces if each.key == key), None)
    if piece is None:
        return "[dim]not applicable[/dim]" if key in plan.refused else ""
    if piece.left_out:
        return "[red]left out[/red]"
    shorter = " (shortened)" if piece.share < 1 and piece.full > piece.least else ""
    return f"{'?' if piece.unknown else in_words(piece.expected)}{shorter}"


def show_result(result: Result, folder: Path) -> None:
    """Print one table, the verdict in one sentence, and where the page is."""
    screen = console()
    table = Table(box=box.SIMPLE_HEAD, header_style="", show_lines=False)
    table.add_column("scheme", no_wrap=True)
    table.add_column("accuracy", justify="right", no_wrap=True)
    for threat in result.threats:
        table.add_column(threat.title)
    table.add_column("worst attack")
    table.add_column("its cost", justify="right", no_wrap=True)
    if result.vanilla is not None:
        table.add_row("nothing hidden", _percent(result.vanilla.accuracy.mean), *("" for _ in result.threats), "", "")
    for scheme in result.schemes:
        table.add_row(
            scheme.name, _accuracy(scheme), *(_verdict(each.outcome) for each in scheme.verdicts), *_worst(scheme)
        )
    screen.print(table)
    screen.print(escape(headline(result)), highlight=False)
    for scheme in result.schemes:
        for advice in scheme.advice:
            if advice.helps is not None:
                screen.print(escape(f"{scheme.name}, {advice.change}: {advice.sentence}"), highlight=False)
    if result.why_no_accuracy:
        screen.print(escape(f"Accuracy was not measured: {result.why_no_accuracy}"), highlight=False)
    if result.flags:
        many = f"{len(result.flags)} reasons" if len(result.flags) > 1 else "1 reason"
        screen.print(f"{many} to distrust parts of this audit: see the page.", highlight=False)
    _places(screen, folder)


def _places(screen: Console, folder: Path) -> None:
    screen.print(escape(f"The page:     {(folder / 'report.html').resolve()}"), highlight=False, soft_wrap=True)
    screen.print(escape(f"All figures:  {(folder / 'result.json').resolve()}"), highlight=False, soft_wrap=True)
    screen.print(
        escape(f"Pages may be passed on, the folder may not: {folder / 'pictures'} shows private images."),
        highlight=False,
    )


def _verdict(outcome: str) -> str:
    return f"[bold red]{outcome}[/bold red]" if outcome == "broken" else outcome


def _accuracy(scheme: SchemeResult) -> str:
    if scheme.accuracy is None:
        return ""
    lost = f" (−{100 * scheme.lost:.1f})" if scheme.lost is not None and scheme.lost >= 0 else ""
    return f"{_percent(scheme.accuracy.accuracy.mean)}{lost}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _worst(scheme: SchemeResult) -> tuple[str, str]:
    worst = worst_attack(scheme)
    if worst is None:
        return "", ""
    if worst.outcome != "broken":
        return "none of them", ""
    return (
        f"{worst.attack}: {escape(_first(worst.sentence))}",
        f"{worst.seconds:,.1f} s, {worst.memory / 2**20:,.0f} MiB",
    )


def _first(sentence: str) -> str:
    """Give what comes first in a sentence.

    >>> _first("It tells rows apart (area 0.9, 0.5 by chance), and more; and more.")
    'It tells rows apart (area 0.9, 0.5 by chance)'
    """
    parts = sentence.partition("; ")[0].rstrip(".").split(", ")
    for count in range(1, len(parts) + 1):
        text = ", ".join(parts[:count])
        if text.count("(") == text.count(")"):
            return text
    return sentence
