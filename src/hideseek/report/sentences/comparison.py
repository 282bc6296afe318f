"""Two audits side by side, in words."""

from hideseek.records.result import Accuracy, DatasetSummary, Outcome, Range
from hideseek.report.comparison import Compared, Difference, Mismatch, MismatchKind, Value
from hideseek.report.sentences.accuracies import beside_accuracy
from hideseek.report.sentences.numbers import counted, duration, listing, number, span

COMPARED = {
    Compared.AUDITED: "",
    Compared.ACCURACY: "accuracy",
    Compared.VERDICT: "against {name}",
    Compared.OUTCOME: "outcome",
    Compared.FIGURE: "{name}",
}
MISMATCHES = {
    MismatchKind.IMAGES: "private images",
    MismatchKind.ROUNDS: "rounds",
    MismatchKind.TRAINED_ON: "training images",
    MismatchKind.TRUTH: "truths to judge by",
    MismatchKind.BUDGET: "budgets",
    MismatchKind.VERSION: "versions",
}


def difference(found: Difference) -> tuple[str, str, str, str]:
    """Say what was compared: of what, by what, and what it is in the first audit and in the second."""
    subject = f"{found.scheme}, {found.attack}" if found.attack else found.scheme
    first, second = (_compared(value, found.unit) for value in (found.first, found.second))
    return subject, COMPARED[found.what].format(name=found.name), first, second


def _compared(value: Range | Accuracy | Outcome | bool, unit: str) -> str:
    if isinstance(value, Accuracy):
        beside = beside_accuracy(value)
        return f"{_compared(value.accuracy, unit)}{f', {beside}' if beside else ''}"
    if isinstance(value, Range):
        return f"{number(value.mean, unit)} ({span(value, unit)})"
    return value.value if isinstance(value, Outcome) else "audited" if value else "not audited"


def differing(count: int) -> str:
    """Say how much differs.

    >>> differing(0), differing(1), differing(2)
    ('Nothing differs.', '1 thing differs.', '2 things differ.')
    """
    return f"{counted(count, 'thing')} differ{'s' if count == 1 else ''}." if count else "Nothing differs."


def mismatch(found: Mismatch) -> str:
    """Say why two audits do not compare like with like."""
    return f"Their {MISMATCHES[found.kind]} differ: {_circumstance(found.first)} and {_circumstance(found.second)}."


def _circumstance(value: Value) -> str:
    if isinstance(value, DatasetSummary):
        return f"{value.images:,} of {value.address or 'a set without a name'}"
    if isinstance(value, tuple):
        return listing([str(each) for each in value])
    if isinstance(value, int | float):
        return duration(value)
    return value or "none"
