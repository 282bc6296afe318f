"""An audit as a whole: its verdict in one sentence, its images, its attackers, its steps."""

from collections.abc import Sequence
from itertools import pairwise

from hideseek.records.result import (
    AttackResult,
    DatasetSummary,
    NoAccuracy,
    NoAccuracyKind,
    Outcome,
    Result,
    SchemeResult,
    StepKey,
    StepKind,
    Threat,
)
from hideseek.report.ranking import breaking, is_judged
from hideseek.report.sentences.findings import worst_finding
from hideseek.report.sentences.numbers import counted, sentence

OUTCOMES = {
    Outcome.BROKEN: "An attack found more than a baseline that ignores the release.",
    Outcome.RESISTED: "The attacks ran and did not, at this budget. Others may.",
    Outcome.WITHHELD: "An attack did not pass its own proofs: its result is not believed either way.",
    Outcome.FAILED: "It did not run to its end. That says nothing of privacy.",
    Outcome.NOT_APPLICABLE: "There is nothing in this scheme for such an attack to work on.",
}


def outcome(came: Outcome) -> str:
    """Say what an outcome means."""
    return OUTCOMES[came]


NO_ACCURACIES = {
    NoAccuracyKind.NOT_ASKED: "it was not asked for",
    NoAccuracyKind.NO_LABELS: "the images have no labels, so there is nothing to learn",
    NoAccuracyKind.ONE_CLASS: "there is one class only, so there is nothing to learn",
    NoAccuracyKind.TOO_FEW_IMAGES: "fewer than two classes have two images, one to learn from and one to test with",
    NoAccuracyKind.UNREADABLE_LABELS: "the labels could not be read: {text}",
    NoAccuracyKind.NO_TIME: "the budget leaves no time to train: give the audit more time",
}


def no_accuracy(why: NoAccuracy) -> str:
    """Say why accuracies are not measured."""
    return sentence(f"Accuracy is not measured: {NO_ACCURACIES[why.kind].format(text=why.text)}")


STEPS = {
    StepKind.ACCURACY: "accuracy",
    StepKind.HIDE: "hide",
    StepKind.ATTACK: "{attack}",
    StepKind.ADVICE: "what would help",
}


def step(key: StepKey) -> str:
    """Name a step of the audit.

    >>> step(StepKey(StepKind.ATTACK, "mixup", "mixup-pairs")), step(StepKey(StepKind.ACCURACY))
    ('mixup: mixup-pairs', 'accuracy')
    """
    name = STEPS[key.kind].format(attack=key.attack)
    return f"{key.scheme}: {name}" if key.scheme else name


def dataset(images: DatasetSummary) -> str:
    """Describe a set of images.

    >>> dataset(DatasetSummary("faces", 1600, (3, 32, 32), 10, "channel", 2))
    '1,600 images of 3×32×32 in 10 classes, normalised by channel; 2 of them are private images too.'
    """
    classes = f" in {images.classes} classes" if images.classes > 1 else ""
    normalised = f", normalised by {images.normalisation}" if images.normalisation in ("channel", "image") else ""
    overlap = f"; {images.overlap:,} of them are private images too" if images.overlap else ""
    return f"{counted(images.images, 'image')} of {'×'.join(map(str, images.shape))}{classes}{normalised}{overlap}."


def attackers(threats: Sequence[Threat]) -> str:
    """Say what all attackers know, and whether each knows more than the one before."""
    known = "The attacker knows the scheme, its parameters and the code; keys alone are secret."
    nested = len(threats) > 1 and all(after.covers(before) for before, after in pairwise(threats))
    return f"{known} Each knows all that those before him know." if nested else known


def headline(result: Result) -> str:
    """Give the verdict in one sentence of plain text."""
    count = len(result.schemes)
    ways = "the one way of sharing" if count == 1 else f"{count} ways of sharing"
    judged = [scheme for scheme in result.schemes if is_judged(scheme)]
    if not judged:
        return f"No attack ran to its end, so nothing is known of {ways}."
    left = count - len(judged)
    unjudged = f", and {left} could not be judged" if left else ""
    weakest = min(result.threats, key=lambda threat: len(threat.gives), default=None)
    attacker = "an attacker" if weakest is None else f"an attacker who {weakest.title}"
    name = "" if weakest is None else weakest.name
    broken = [scheme for scheme in judged if breaking(scheme)]
    by_weakest = [scheme for scheme in judged if breaking(scheme, name)]
    if not broken:
        what = "The one way of sharing" if count == 1 else f"Each of {ways}"
        what = "Each way of sharing that could be judged" if left else what
        return f"{what} resisted these attacks at this budget, which proves nothing about others{unjudged}."
    if not by_weakest and not any(_ran(scheme, name) for scheme in judged):
        says = f"{_share(len(broken), count)} broken by an attacker who knows more than what is shared"
        return f"{says}{unjudged}, and no other was tried; {_worst(broken, None, result)}."
    says = f"{_share(len(by_weakest), count)} broken by {attacker}"
    more = len(broken) - len(by_weakest)
    says += f", {more}{' more' if by_weakest else ''} by one who knows more" if more else ""
    worst = _worst(by_weakest, name, result) if by_weakest else _worst(broken, None, result)
    return f"{says}{unjudged}; {worst}."


def _worst(schemes: Sequence[SchemeResult], threat: str | None, result: Result) -> str:
    """Say the worst that was found, without all that was found besides."""
    pairs: list[tuple[SchemeResult, AttackResult]] = [
        (scheme, attack) for scheme in schemes for attack in breaking(scheme, threat)
    ]
    scheme, attack = max(pairs, key=lambda pair: pair[1].harm.rank)
    found = worst_finding(attack.figures, result.private.images) or attack.harm.value
    return f"the worst, {scheme.name}: {found}"


def _ran(scheme: SchemeResult, threat: str) -> bool:
    return any(each.threat == threat and each.outcome in (Outcome.BROKEN, Outcome.RESISTED) for each in scheme.attacks)


def _share(count: int, of: int) -> str:
    if of == 1:
        return "The one way of sharing is" if count else "The one way of sharing is not"
    if count == of:
        return f"All {of} ways of sharing are"
    return f"{count or 'None'} of {of} ways of sharing {'are' if count > 1 else 'is'}"
