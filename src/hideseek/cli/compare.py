"""`hideseek compare A B`: two audits side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from hideseek.cli.arguments import parse
from hideseek.cli.terminal import Column, Styled, paragraph, table
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

    first: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FIRST")]
    """The folder that `hideseek audit` wrote, or its result.json."""
    second: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="SECOND")]
    """Another one."""
    changes: bool = False
    """Show only what differs."""


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments, read both, compare."""
    asked = parse(Compare, "hideseek compare", arguments)
    first, second = read_result(asked.first), read_result(asked.second)
    for place, result in ((asked.first, first), (asked.second, second)):
        paragraph(f"{place}: {sentences.headline(result)}")
    for mismatch in mismatches(first, second):
        paragraph(f"Not like with like. {sentences.mismatch(mismatch)}")
    found = [each for each in differences(first, second) if each.differs or not asked.changes]
    rows = []
    for each in found:
        words = (*sentences.difference(each), "differs" if each.differs else "")
        rows.append([Styled(word, "bold" if each.differs else "") for word in words])
    table([Column(head) for head in ("", "", str(asked.first), str(asked.second), "")], rows)
    paragraph(sentences.differing(sum(each.differs for each in found)))
