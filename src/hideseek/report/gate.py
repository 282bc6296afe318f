"""Whether an audit may pass: nothing was found that is too bad, and nothing that applies was left unsaid."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hideseek.records.result import Outcome, Result
from hideseek.report.attempts import Attempt, attempts
from hideseek.report.ranking import is_judged

FailOn = Literal["broken", "leaks"]


@dataclass(frozen=True)
class GateState:
    """What keeps a gate from passing; it passes where all three are empty."""

    found: tuple[Attempt, ...]
    """Findings as bad as the gate forbids, or worse, the worst first."""
    open: tuple[Attempt, ...]
    """Attacks that apply and failed, were withheld or not tried: they say nothing, which is no success."""
    unjudged: tuple[str, ...]
    """Schemes on which no attack ran to its end."""


def gate(results: Sequence[Result], fail_on: FailOn) -> GateState:
    """Hold audits against the least finding that a gate forbids."""
    every = [each for result in results for each in attempts(result)]
    found = sorted((each for each in every if each.at_least(Outcome(fail_on))), key=lambda each: each.outcome.rank)
    unjudged = [scheme.name for result in results for scheme in result.schemes if not is_judged(scheme)]
    return GateState(tuple(found), tuple(each for each in every if each.open), tuple(unjudged))
