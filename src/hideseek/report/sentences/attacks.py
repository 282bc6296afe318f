"""What became of an attack: what it found or why it did not, what it knew, and whether it may be believed."""

from collections.abc import Sequence

from hideseek.records.refusal import Refusal
from hideseek.records.release import Contents
from hideseek.records.result import (
    AttackResult,
    Failure,
    FailureKind,
    Outcome,
    Proof,
    SchemeResult,
    Threat,
)
from hideseek.report.ranking import finder, findings
from hideseek.report.sentences.claims import claims
from hideseek.report.sentences.findings import NOTHING_JUDGED, found, worst_finding
from hideseek.report.sentences.numbers import cost, counted, duration, joined, listing, sentence

GIVEN = {
    "candidates": "a gallery of candidate images",
    "made_for": "which image each row was made for",
    "sources": "which images are in each row",
    "weights": "the weights",
    "round_of": "the round of each update",
    "labels": "the labels of each update",
    "statistics": "what batch norm saw of each update",
    "crafted": "updates of a model that he made up",
}
"""What an attacker knows who is given a field; the name of any other field is written with spaces."""
WHO = {Outcome.BROKEN: "by", Outcome.LEAKS: "to"}


def attack(result: AttackResult, images: int) -> str:
    """Say what became of an attack on the release of so many private images."""
    if result.outcome is Outcome.NOT_APPLICABLE:
        return refusal(result.refusal) if result.refusal else "It does not apply."
    if result.outcome in (Outcome.FAILED, Outcome.NOT_TRIED):
        return failure(result.failure) if result.failure else "It did not run to its end."
    if result.outcome in (Outcome.CONFIRMED, Outcome.UNJUDGED):
        return claims(result.claimed)
    if result.outcome is Outcome.WITHHELD:
        missed = [proof(each) for each in result.proofs if not each.passed]
        return " ".join(missed) or "It did not pass its proofs."
    return joined(found(result.figures, images), claims(result.claimed) if result.claimed else "")


def by_whom(result: AttackResult, threats: Sequence[Threat]) -> str:
    """Say who makes the worst finding of an attack, where that takes more than the attack does; else nothing."""
    able = finder(result, threats)
    if able is None or able.name == result.threat or result.outcome not in WHO:
        return ""
    runs = next((threat for threat in threats if threat.name == result.threat), None)
    said = f"{result.outcome} {WHO[result.outcome]} an attacker who {able.title}"
    if runs is not None:
        said += f"; {'it leaks to one' if findings(result, runs) else 'nothing is found by one'} who {runs.title}"
    return sentence(said)


def worst(scheme: str, result: AttackResult, images: int, threats: Sequence[Threat]) -> str:
    """Say the worst that was found in a scheme, by whom, by which attack, and what that took."""
    able = finder(result, threats)
    who = f" {WHO[result.outcome]} an attacker who {able.title}" if able and result.outcome in WHO else ""
    finding = worst_finding(result.figures, images) or result.harm.value
    return f"{scheme}: {result.outcome}{who}; {result.attack} ({cost(result.seconds, result.memory)}): {finding}."


def alarms(schemes: Sequence[SchemeResult]) -> list[str]:
    """Say what was found in what is shared that no honest release has, and in which schemes."""
    found: dict[str, list[str]] = {}
    for scheme in schemes:
        for result in scheme.attacks:
            names = found.setdefault(result.alarm, []) if result.alarm else [scheme.name]
            if scheme.name not in names:
                names.append(scheme.name)
    return [f"Warning ({listing(names)}): {alarm}" for alarm, names in found.items()]


def refusal(refused: Refusal) -> str:
    """Say why an attack does not apply."""
    return sentence(str(refused))


FAILURES = {
    FailureKind.TIME_LIMIT: "it was stopped{after}: give the audit more time",
    FailureKind.NO_TIME: "the budget left no time for it{needs}: give the audit more time",
    FailureKind.ERROR: "it failed{error}",
    FailureKind.REFUSED: "{text}",
    FailureKind.TOO_FEW_IMAGES: (
        "too few images could be judged for it to beat a baseline, whatever it found: hide more images"
    ),
    FailureKind.NOTHING_JUDGED: NOTHING_JUDGED,
    FailureKind.NO_WEAK_CASE: "no weak case could be made for it, so nothing shows that it works here",
}


def failure(failed: Failure) -> str:
    """Say why something did not come to an end."""
    took = "" if failed.seconds is None else duration(failed.seconds)
    return sentence(
        FAILURES[failed.kind].format(
            after=f" after {took}, all that the budget gave it" if took else " when its time was over",
            needs=f", and it needs {took} at least" if took else "",
            error=f" ({failed.text})" if failed.text else "",
            text=failed.text or (str(failed.refusal) if failed.refusal else "it lacks something"),
        )
    )


def proof(proved: Proof) -> str:
    """Say whether an attack succeeds on a weak case, and is at chance on noise."""
    images = proved.case.images if proved.case else max((each.found.images for each in proved.figures), default=0)
    said = failure(proved.failure) if proved.failure else found(proved.figures, images)
    if proved.kind == "noise":
        if proved.failure:
            judged = "it finds nothing that could be judged" if proved.passed else "it could not be run"
            return f"On noise {judged}: {said}"
        if proved.passed:
            return f"On noise it is at chance. {said}"
        return f"It claims to find something in pure noise, so its figures mean nothing. {said}"
    if proved.failure and proved.failure.kind is FailureKind.NO_WEAK_CASE:
        return said
    case = f"a weak case{_case(proved)}"
    if proved.failure:
        return f"On {case} it could not be run. {said}"
    if proved.passed:
        return f"It succeeds on {case}. {said}"
    return f"It does not succeed on {case}: it may need more rounds or time. {said}"


def _case(proved: Proof) -> str:
    if proved.case is None:
        return ""
    return f" ({proved.case.mechanism} of {proved.case.images:,} images, {counted(proved.case.rounds, 'round')})"


def knew(contents: Contents, given: Sequence[str]) -> str:
    """Say what an attacker knew: what was shared, and the withheld fields that he was given.

    >>> knew(Contents("encoding", 3200, True, 400), ("weights", "device_ids"))
    '3,200 encodings with labels, the scheme, the very 400 public images mixed in, the weights, device ids.'
    """
    parts = [f"{counted(contents.items, contents.item)}{' with labels' if contents.labelled else ''}", "the scheme"]
    if contents.model:
        parts.append(f"{contents.model} with its weights")
    if contents.public:
        larger = f"{counted(contents.public, 'larger public image')}, of which patches were mixed in"
        parts.append(larger if contents.larger else f"the very {counted(contents.public, 'public image')} mixed in")
    if contents.own:
        parts.append(f"{counted(contents.own, 'image')} of the attacker's own")
    parts += [GIVEN.get(field, field.replace("_", " ")) for field in given]
    return sentence(", ".join(parts))
