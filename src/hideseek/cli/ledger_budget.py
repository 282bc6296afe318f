"""`hideseek ledger budget`: what may be spent of any one image."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import FlagCreatePairsOff, Positional, arg

from hideseek.cli.arguments import parse
from hideseek.cli.mistakes import BadArguments
from hideseek.cli.terminal import say
from hideseek.hide.privacy.ledger import Ledger
from hideseek.hide.privacy.ledger_budget import Budget
from hideseek.hide.privacy.ledger_summary import summary


@dataclass(frozen=True)
class StateBudget:
    """State what may be spent of any one image, all its releases together; a ledger that is not there is begun.

    A later budget replaces the whole of an earlier one, and both stay in the ledger. Under a budget of ε or μ, nothing
    leaves that has no proof. Without a limit, the budget is shown, and what is left of it.

    Try:  hideseek ledger budget ledger.db --epsilon 3 --delta 1e-6
          hideseek ledger budget ledger.db --releases 20
          hideseek ledger budget ledger.db
    """

    file: Annotated[Path, Positional, arg(metavar="FILE")]
    """The ledger."""
    epsilon: Annotated[float | None, arg(metavar="ε", help_behavior_hint="")] = None
    """The most ε, at δ."""
    delta: Annotated[float, arg(metavar="δ")] = 1e-5
    """That goes with ε; far below 1 / images."""
    mu: Annotated[float | None, arg(metavar="μ", help_behavior_hint="")] = None
    """The most μ of Gaussian differential privacy: the root of the sum of μ²."""
    releases: Annotated[int | None, arg(metavar="N", help_behavior_hint="")] = None
    """How often an image may be released, each round counted, proved or not."""
    unlimited: Annotated[bool, FlagCreatePairsOff, arg(help_behavior_hint="")] = False
    """Keep a ledger without a budget."""


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments, state the budget, and show it."""
    asked = parse(StateBudget, "hideseek ledger budget", arguments)
    limits = [value for value in (asked.epsilon, asked.mu, asked.releases) if value is not None]
    if asked.unlimited and limits:
        raise BadArguments("a budget has limits or --unlimited, not both.")
    if limits or asked.unlimited:
        ledger = Ledger.begin(asked.file, Budget(asked.epsilon, asked.delta, asked.mu, asked.releases))
        say(f"The budget of {asked.file} is {ledger.read().budget.described()}.")
    else:
        ledger = Ledger.open(asked.file)
        say(f"The budget of {asked.file} is {ledger.read().budget.described()}.")
    found = summary(ledger.read())
    if found.known:
        say(found.sentence())
