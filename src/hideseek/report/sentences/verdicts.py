"""What is said of a scheme against each attacker."""

from collections.abc import Sequence

from hideseek.records.result import Outcome, SchemeResult, Threat, Verdict
from hideseek.report.ranking import FOUND, findings
from hideseek.report.sentences.findings import found, smallest
from hideseek.report.sentences.numbers import duration, joined, listing

NO_VERDICT = "No attacker was tried."


def verdict(
    said: Verdict, scheme: SchemeResult, images: int, threats: Sequence[Threat], before: Verdict | None = None
) -> str:
    """Say how a scheme fares against one attacker; the attack that did most harm is named beside the sentence.

    Where the same is to be said of the attacker `before` this one, it is not said twice.
    """
    told = _told(said, scheme, images, threats)
    same = before is not None and (said.outcome, told) == (before.outcome, _told(before, scheme, images, threats))
    return "As for the attacker before." if same else told


def _told(said: Verdict, scheme: SchemeResult, images: int, threats: Sequence[Threat]) -> str:
    threat = next((each for each in threats if each.name == said.threat), None)
    if said.outcome in FOUND:
        return _found(said, scheme, images, threat)
    if said.outcome is Outcome.NOT_APPLICABLE:
        return _not_applicable(said)
    if said.outcome is Outcome.CONFIRMED:
        return joined(f"Confirmed by the attacker himself, by {said.by}, without the truth.", _left(said))
    if said.outcome is Outcome.UNJUDGED:
        return joined("What attacks found cannot be judged without the truth.", _left(said))
    if said.outcome is Outcome.RESISTED:
        names = listing([_resisted(name, scheme, threat) for name in said.resisted]) or "the attacks"
        may = f"It resisted {names}, {duration(said.seconds)} in all; another attack, or more time, may do better."
        return joined(may, _left(said))
    return joined("Nothing is known.", _left(said))


def _found(said: Verdict, scheme: SchemeResult, images: int, threat: Threat | None) -> str:
    """Say what this attacker finds by the worst attack, and name the others."""
    worst = next((each for each in scheme.attacks if each.attack == said.by), None)
    shown = "" if worst is None else found(findings(worst, threat) or worst.figures, images)
    broke, leaked = ([name for name in names if name != said.by] for names in (said.broke, said.leaked))
    also = f"It is also broken by {listing(broke)}." if broke else ""
    leaks = f"It also leaks by {listing(leaked)}." if leaked else ""
    if said.outcome is Outcome.BROKEN:
        return joined(shown or "It is broken.", also, leaks)
    return joined(shown or "It leaks.", leaks, "No private image came back.", _left(said))


def _resisted(name: str, scheme: SchemeResult, threat: Threat | None) -> str:
    """Name an attack that found nothing, and the smallest effect of the worst harm that it would have shown."""
    attacked = next((each for each in scheme.attacks if each.attack == name), None)
    figures = () if attacked is None else attacked.figures
    least = smallest([each for each in figures if threat is None or threat.has(each.given)], 1)
    return f"{name} (would have shown {least})" if least else name


def _left(said: Verdict) -> str:
    """Name the attacks that might say more."""
    were = "was" if len(said.not_tried) == 1 else "were"
    untried = f"{listing(said.not_tried)} {were} not tried: that is open." if said.not_tried else ""
    return joined(untried, f"{listing(said.missing)} failed or could not be believed." if said.missing else "")


def beside(said: Verdict) -> str:
    """Say in a few words what stands beside an outcome: what weaker attackers found, or what was not tried.

    >>> beside(Verdict("linked", Outcome.NOT_APPLICABLE, "", broke=("mixup-pairs",)))
    'weaker ones: broken'
    """
    if said.outcome is Outcome.NOT_APPLICABLE:
        return "weaker ones: broken" if said.broke else "weaker ones: leaks" if said.leaked else ""
    return f"{len(said.not_tried):,} not tried" if said.outcome is Outcome.RESISTED and said.not_tried else ""


def _not_applicable(said: Verdict) -> str:
    if not (said.broke or said.leaked or said.resisted or said.missing or said.not_tried):
        return "No attack of this audit applies to this scheme."
    held = [f"it is broken by {listing(said.broke)}"] if said.broke else []
    held += [f"it leaks by {listing(said.leaked)}"] if said.leaked else []
    none = "No attack of this audit that uses what he knows besides applies to this scheme"
    return f"{none}; what weaker attackers found holds for him too{f': {listing(held)}' if held else ''}."
