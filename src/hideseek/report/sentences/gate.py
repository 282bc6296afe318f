"""What is said of a gate that does not pass, and of one attack by one attacker."""

from collections.abc import Sequence

from hideseek.records.result import Outcome, Threat
from hideseek.report.attempts import Attempt
from hideseek.report.gate import GateState
from hideseek.report.ranking import findings
from hideseek.report.sentences.findings import found
from hideseek.report.sentences.numbers import counted, joined, listing, sentence

NAMED = 3  # attacks that are named; the others are counted
SAID = {
    Outcome.BROKEN: "{scheme} is broken by {rule}",
    Outcome.LEAKS: "{scheme} leaks by {rule}",
    Outcome.CONFIRMED: "{scheme} is broken by {rule}, as the attacker himself confirms",
    Outcome.RESISTED: "{scheme} resisted {rule}",
    Outcome.UNJUDGED: "what {rule} found on {scheme} cannot be judged without the truth",
    Outcome.WITHHELD: "{rule} did not pass its proofs on {scheme}",
    Outcome.FAILED: "{rule} failed on {scheme}",
    Outcome.NOT_TRIED: "{rule} was not tried on {scheme}",
    Outcome.NOT_APPLICABLE: "{rule} does not apply to {scheme}",
}
"""What came of an attack by an attacker, in a few words."""


def gate_found(state: GateState) -> str:
    """Say which findings close a gate, the worst first."""
    return _named([_said(each) for each in state.found], "finding")


def gate_open(state: GateState) -> str:
    """Say what is not known without which a gate cannot pass."""
    said = [_said(each) for each in state.open]
    return _named(said or [f"no attack was judged on {name}" for name in state.unjudged], "attack")


def came_of(each: Attempt, images: int, threats: Sequence[Threat]) -> str:
    """Say what came of an attack by an attacker on so many private images; the text of no error is in it."""
    threat = next((threat for threat in threats if threat.name == each.threat), None)
    figures = findings(each.attack, threat)
    return joined(sentence(_said(each)), found(figures, images) if figures else "")


def _said(each: Attempt) -> str:
    return SAID[each.outcome].format(scheme=each.scheme.name, rule=each.rule)


def _named(said: Sequence[str], what: str) -> str:
    more = len(said) - NAMED
    return listing([*said[:NAMED], *([counted(more, f"other {what}")] if more > 0 else [])])
