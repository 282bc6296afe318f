"""What an audit says while it is at work, one line a step."""

from hideseek.records.release import Contents
from hideseek.records.result import Accuracy, AttackResult
from hideseek.report.sentences.attacks import attack
from hideseek.report.sentences.numbers import counted, number


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
