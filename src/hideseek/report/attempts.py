"""What each attack came to against each attacker for whom it came to something new: the findings of a gate."""

from collections.abc import Iterator
from dataclasses import dataclass

from hideseek.records.result import AttackResult, Outcome, Result, SchemeResult, Threat, Verdict
from hideseek.report.ranking import FOUND

OPEN = (Outcome.FAILED, Outcome.WITHHELD, Outcome.NOT_TRIED, Outcome.UNJUDGED)
"""What says nothing about a scheme, and so is no success of it."""


@dataclass(frozen=True)
class Attempt:
    """An attack on a scheme by an attacker, and what came of it."""

    scheme: SchemeResult
    attack: AttackResult
    threat: str
    outcome: Outcome

    @property
    def rule(self) -> str:
        """Name the pair of attack and attacker, which is the same in every audit."""
        return f"{self.attack.attack}/{self.threat}"

    def at_least(self, outcome: Outcome) -> bool:
        """Tell whether it is a finding as bad as this, or worse."""
        return self.found and self.outcome.rank <= max(outcome.rank, Outcome.CONFIRMED.rank)

    @property
    def found(self) -> bool:
        """Tell whether it is a finding: one that the attacker confirms himself breaks, without the truth too."""
        return self.outcome in (*FOUND, Outcome.CONFIRMED)

    @property
    def open(self) -> bool:
        """Tell whether it says nothing, though the attack applies."""
        return self.outcome in OPEN


def attempts(result: Result) -> tuple[Attempt, ...]:
    """List what every attack came to, scheme by scheme.

    What a weaker attacker finds holds for the stronger ones too, and is listed once; an attack that leaks to one and
    breaks for another is listed for both.
    """
    return tuple(
        Attempt(scheme, attack, threat, outcome)
        for scheme in result.schemes
        for attack in scheme.attacks
        for threat, outcome in _levels(scheme, attack, result.threats)
    )


def _levels(scheme: SchemeResult, attack: AttackResult, threats: tuple[Threat, ...]) -> Iterator[tuple[str, Outcome]]:
    """Give the weakest attackers of each outcome of an attack."""
    said = {verdict.threat: _outcome_in(attack.attack, verdict) for verdict in scheme.verdicts}
    known = [threat for threat in threats if said.get(threat.name) is not None]
    if attack.outcome in (*OPEN, Outcome.NOT_APPLICABLE) or not known:
        yield attack.threat, attack.outcome
        return
    for threat in known:
        weaker = [each for each in known if threat.covers(each) and not each.covers(threat)]
        outcome = said[threat.name]
        if outcome is not None and all(said[each.name] is not outcome for each in weaker):
            yield threat.name, outcome


def _outcome_in(attack: str, verdict: Verdict) -> Outcome | None:
    """Say what a verdict has of an attack; None where it has nothing."""
    lists = {Outcome.BROKEN: verdict.broke, Outcome.LEAKS: verdict.leaked, Outcome.RESISTED: verdict.resisted}
    return next((outcome for outcome, names in lists.items() if attack in names), None)
