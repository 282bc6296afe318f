"""`hideseek compare A B`: two audits side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich import box
from rich.markup import escape
from rich.table import Table

from hideseek.cli.score_table import console
from hideseek.report import sentences
from hideseek.report.comparison import differences, mismatches
from hideseek.report.result_files import read_result


@dataclass(frozen=True)
class Compare:
    """Set two audits side by side: verdicts, accuracies, and every figure that decides, with what differs marked.

    Figures differ if their 95 % intervals lie apart. Audits of other images, rounds or budgets do not compare like
    with like, which is said first.

    Try:  hideseek compare audit-before audit-after
    """

    first: Annotated[Path, tyro.conf.Positional]
    """The folder that `hideseek audit` wrote, or its result.json."""
    second: Annotated[Path, tyro.conf.Positional]
    """Another one."""
    changes: bool = False
    """Show only what differs."""


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments, read both, compare."""
    asked = tyro.cli(Compare, prog="hideseek compare", args=arguments)
    first, second = read_result(asked.first), read_result(asked.second)
    screen = console()
    for place, result in ((asked.first, first), (asked.second, second)):
        screen.print(f"{escape(str(place))}: {escape(sentences.headline(result))}", highlight=False)
    for mismatch in mismatches(first, second):
        screen.print(f"Not like with like. {escape(sentences.mismatch(mismatch))}", highlight=False)
    found = [each for each in differences(first, second) if each.differs or not asked.changes]
    table = Table(box=box.SIMPLE_HEAD, header_style="")
    for head in ("", "", str(asked.first), str(asked.second), ""):
        table.add_column(escape(head))
    for each in found:
        style = "[bold]" if each.differs else ""
        words = (*sentences.difference(each), "differs" if each.differs else "")
        table.add_row(*(f"{style}{escape(word)}" for word in words))
    screen.print(table)
    screen.print(sentences.differing(sum(each.differs for each in found)))
