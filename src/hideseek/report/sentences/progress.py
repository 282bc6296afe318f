"""What an audit says before it begins, while it is at work, one line a step, and when it is done."""

from collections.abc import Sequence

from hideseek.records.release import Contents
from hideseek.records.result import AttackResult, StepKey
from hideseek.report.sentences.attacks import attack
from hideseek.report.sentences.numbers import are, counted, duration
from hideseek.report.sentences.overview import step


def planned(key: StepKey, seconds: float) -> str:
    """Say how long a step is expected to take.

    >>> from hideseek.records.result import StepKind
    >>> planned(StepKey(StepKind.ACCURACY), 30)
    'Accuracy: 30 s'
    """
    return f"{step(key).capitalize()}: {duration(seconds)}"


def expected(seconds: float, budget: float, least: float) -> str:
    """Say how long an audit is expected to work, and how long it may.

    >>> expected(95, 600, 40)
    'Expected in all: 1 min 35 s of work, of a budget of 10 min. Time that is left goes to attacks that were shortened.'
    >>> expected(40, 10, 40)
    'Expected in all: 40 s of work, the least that works, and more than the budget of 10 s.'
    >>> expected(10.2, 10, 10.2)
    'Expected in all: 10 s of work, the least that works, and all of the budget.'
    >>> expected(14, 10, 6)
    'Expected in all: 14 s of work, more than the budget of 10 s, since the strongest attacks go beyond it.'
    """
    seconds = max(seconds, least)
    said = f"Expected in all: {duration(seconds)} of work"
    if least > budget and duration(seconds) == duration(budget):
        return f"{said}, the least that works, and all of the budget."
    if least > budget:
        return f"{said}, the least that works, and more than the budget of {duration(budget)}."
    if seconds > budget and duration(seconds) != duration(budget):
        return f"{said}, more than the budget of {duration(budget)}, since the strongest attacks go beyond it."
    return f"{said}, of a budget of {duration(budget)}. Time that is left goes to attacks that were shortened."


def at_most(seconds: float) -> str:
    """Say when an audit is stopped, however busy the machine is.

    >>> at_most(2400)
    'Beside other work on the same machine it lasts longer; attacks are stopped after 40 min.'
    """
    return f"Beside other work on the same machine it lasts longer; attacks are stopped after {duration(seconds)}."


def unjudged(metrics: Sequence[str]) -> str:
    """Say which metrics there is no time for.

    >>> unjudged(["lpips-vgg", "lpips-alex"])
    'Not measured for lack of time: lpips-vgg and lpips-alex. No verdict rests on them.'
    >>> unjudged(["lpips-vgg"])
    'Not measured for lack of time: lpips-vgg. No verdict rests on it.'
    """
    rests = "it" if len(metrics) == 1 else "them"
    return f"Not measured for lack of time: {' and '.join(metrics)}. No verdict rests on {rests}."


def done(text: str, took: float | None, left: float) -> str:
    """Say that a step is done, what it took (None: it was done before a pause), and how long the rest may last.

    >>> done("mixup: hidden", 3.25, 130), done("accuracy", 12.0, 0.0), done("accuracy", None, 0.0)
    ('mixup: hidden (3.2 s; about 2 min 10 s left)', 'accuracy (12 s)', 'accuracy (kept from before)')
    """
    rest = f"; about {duration(left)} left" if left >= 1 else ""
    return f"{text} ({'kept from before' if took is None else duration(took)}{rest})"


def hidden(scheme: str, contents: Contents) -> str:
    """Say that a scheme's release is there.

    >>> hidden("mixup", Contents("encoding", 320))
    'mixup: 320 encodings are ready to be attacked'
    """
    return f"{scheme}: {counted(contents.items, contents.item)} {are(contents.items)} ready to be attacked"


def attacked(scheme: str, result: AttackResult, images: int) -> str:
    """Say what an attack came to."""
    return f"{scheme}: {result.attack}: {result.outcome}. {attack(result, images)}"


def may_be_shared(pictures: str) -> str:
    """Say what of an audit's folder may be passed on, by where it keeps its pictures."""
    return f"Pages may be passed on, the folder may not: {pictures} shows private images."
