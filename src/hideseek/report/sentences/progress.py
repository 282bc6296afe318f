"""What an audit says before it begins, while it is at work, one line a step, and when it is done."""

from hideseek.records.release import Contents
from hideseek.records.result import Accuracy, AttackResult, StepKey
from hideseek.report.sentences.attacks import attack
from hideseek.report.sentences.numbers import counted, duration, number
from hideseek.report.sentences.overview import step


def planned(key: StepKey, seconds: float) -> str:
    """Say how long a step is expected to take.

    >>> from hideseek.records.result import StepKind
    >>> planned(StepKey(StepKind.ACCURACY), 30)
    'Accuracy: 30 s'
    """
    return f"{step(key).capitalize()}: {duration(seconds)}"


def expected(seconds: float, budget: float) -> str:
    """Say how long an audit is expected to take, and how long it may.

    >>> expected(95, 600)
    'Expected in all: 1 min 35 s, of a budget of 10 min.'
    """
    return f"Expected in all: {duration(seconds)}, of a budget of {duration(budget)}."


def hidden(scheme: str, contents: Contents) -> str:
    """Say that a scheme's release is there.

    >>> hidden("mixup", Contents("encoding", 320))
    'mixup: 320 encodings are ready to be attacked'
    """
    return f"{scheme}: {counted(contents.items, contents.item)} are ready to be attacked"


def attacked(scheme: str, result: AttackResult, images: int) -> str:
    """Say what an attack came to."""
    return f"{scheme}: {result.attack}: {result.outcome}. {attack(result, images)}"


def trained(scheme: str, accuracy: Accuracy) -> str:
    """Say how well a model does; without a scheme, it learnt from the images themselves."""
    return f"{scheme or 'not hidden'}: {number(accuracy.accuracy.mean, 'share')} of new images are classified correctly"


def may_be_shared(pictures: str) -> str:
    """Say what of an audit's folder may be passed on, by where it keeps its pictures."""
    return f"Pages may be passed on, the folder may not: {pictures} shows private images."
