"""`hideseek report DIR`: make an audit's page again, and the files that CI reads."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from hideseek.cli.arguments import parse
from hideseek.cli.gate import Gate
from hideseek.cli.terminal import say
from hideseek.report import sentences
from hideseek.report.page.page import write_page
from hideseek.report.result_files import read_result


@dataclass(frozen=True)
class Report:
    """Make the page of an audit again, from its result.json and its pictures.

    Try:  hideseek report audit --show-private
          hideseek report audit --sarif audit.sarif --junit audit.xml --fail-on leaks
    """

    audit: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DIR")]
    """The folder that `hideseek audit` wrote."""
    show_private: bool = False
    """Show private and recovered images as they are; by default they are blurred. Do not pass such a page on."""
    gate: Annotated[Gate, tyro.conf.arg(help="")] = field(default_factory=Gate)


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments, read, render."""
    asked = parse(Report, "hideseek report", arguments, config=(tyro.conf.OmitArgPrefixes,))
    asked.gate.check()
    result = read_result(asked.audit)
    page = write_page(result, asked.audit, show_private=asked.show_private)
    say(sentences.headline(result))
    say(f"The page: {page.resolve()}")
    if asked.show_private:
        say("It shows private images: do not pass it on.")
    asked.gate.finish([result])
