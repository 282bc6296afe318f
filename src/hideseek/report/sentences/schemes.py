"""What is said of a scheme: against each attacker, what is proved of it, and what to change."""

from collections.abc import Sequence
from dataclasses import replace

from hideseek.records.encoder import Bound, Change, ChangeKind
from hideseek.records.result import Accuracy, Advice, Outcome, SchemeResult, Verdict
from hideseek.report.ranking import worst_harm
from hideseek.report.sentences.attacks import attack, failure, refusal
from hideseek.report.sentences.numbers import counted, duration, listing, number, parameter, sentence, span

NO_VERDICT = "No attacker was tried."


def verdict(said: Verdict, scheme: SchemeResult, images: int, before: Verdict | None = None) -> str:
    """Say how a scheme fares against one attacker; the attack that broke it is named beside the sentence.

    Where the same attacks decided the verdict on the attacker `before` this one, that is not said twice.
    """
    if before is not None and said.by and said == replace(before, threat=said.threat):
        return "As for the attacker before."
    missing = f"{listing(said.missing)} did not run, or could not be believed." if said.missing else ""
    if said.outcome is Outcome.BROKEN:
        worst = next((each for each in scheme.attacks if each.attack == said.by), None)
        others = [name for name in said.broke if name != said.by]
        also = f"It is also broken by {listing(others)}." if others else ""
        return _joined("" if worst is None else attack(worst, images), also) or "It is broken."
    if said.outcome is Outcome.RESISTED:
        names, took = listing(said.resisted) or "the attacks", duration(said.seconds)
        return _joined(f"It resisted {names}, {took} in all; another attack, or more time, may do better.", missing)
    if said.outcome is Outcome.NOT_APPLICABLE:
        return "None of the attacks that were asked for applies."
    return _joined("Nothing is known.", missing)


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def bound(proved: Bound) -> str:
    """Say what is proved of a scheme, and what the theorem does not say."""
    return f"{proved.theorem}: {proved.quantity} is at most {parameter(proved.value)}. {sentence(proved.limits)}"


CHANGES = {
    ChangeKind.FEWER_ROUNDS: "Fewer rounds: {after}{instead}",
    ChangeKind.MORE_NOISE: "More noise: {parameter} = {after}{instead}",
    ChangeKind.OTHER_SCHEME: "Another scheme: {scheme} with {parameter} = {after}",
}


def change(made: Change) -> str:
    """Say what to change, as a heading.

    >>> change(Change(ChangeKind.FEWER_ROUNDS, "rounds", 20, 1))
    'Fewer rounds: 1 instead of 20'
    """
    instead = "" if made.before is None else f" instead of {parameter(made.before)}"
    return CHANGES[made.kind].format(
        after=parameter(made.after), instead=instead, parameter=made.parameter, scheme=made.scheme
    )


def effect(advised: Advice) -> str:
    """Say in a few words whether a change helps."""
    if advised.helps is None:
        return "not measured"
    return "helps against the attack measured" if advised.helps else "does not help"


def advice(advised: Advice) -> str:
    """Say what was measured that speaks for or against a change, and what it costs."""
    if advised.refusal is not None:
        said = f"{advised.attack} does not apply then, others may. {refusal(advised.refusal)}"
    elif advised.failure is not None:
        said = f"It could not be measured. {failure(advised.failure)}"
    elif advised.helps is None:
        said = "It was not measured."
    elif advised.helps:
        said = f"{advised.attack} is not shown to beat its baseline then."
    else:
        said = f"Not enough: {advised.attack} still beats its baseline."
    return _joined(said, sentence(advised.change.cost))


def advised(scheme: str, given: Advice) -> str:
    """Say what to change in a scheme, and what speaks for it or against it."""
    return f"{scheme}. {change(given.change)}. {advice(given)}"


def trade_off(schemes: Sequence[tuple[SchemeResult, Accuracy]], vanilla: Accuracy | None) -> str:
    """Say what each scheme leaks at worst, and the accuracy of a model that was trained on it."""
    said = [
        f"{scheme.name}: {worst_harm(scheme).value}, accuracy {number(accuracy.accuracy.mean, 'share')}"
        f" ({span(accuracy.accuracy, 'share')})"
        for scheme, accuracy in schemes
    ]
    if vanilla is not None:
        said.append(f"not hidden: accuracy {number(vanilla.accuracy.mean, 'share')}")
    return f"{'; '.join(said)}."


def shared(scheme: SchemeResult) -> str:
    """Count what is shared: encodings, updates."""
    item = next((each.contents.item for each in scheme.attacks), "item")
    return f"{counted(scheme.items, item)} in {counted(scheme.rounds, 'round')}"
