"""Every sentence that a person reads of an audit, made from its result: for the page, the terminal and other files."""

from hideseek.report.sentences.attacks import attack, by_whom, failure, knew, proof, refusal, worst
from hideseek.report.sentences.comparison import difference, differing, mismatch
from hideseek.report.sentences.findings import caption, found, note, smallest, worst_finding
from hideseek.report.sentences.flags import DistrustedPart, distrusted, flag, flags
from hideseek.report.sentences.headline import headline
from hideseek.report.sentences.numbers import cost, duration, listing, number, parameter, plain, points, size, span
from hideseek.report.sentences.overview import attackers, attackers_by_name, dataset, no_accuracy, outcome, step
from hideseek.report.sentences.progress import (
    at_most,
    attacked,
    done,
    expected,
    hidden,
    may_be_shared,
    planned,
    trained,
)
from hideseek.report.sentences.schemes import advice, advised, bound, change, effect, shared, trade_off
from hideseek.report.sentences.verdicts import NO_VERDICT, beside, verdict

__all__ = [
    "NO_VERDICT",
    "DistrustedPart",
    "advice",
    "advised",
    "at_most",
    "attack",
    "attacked",
    "attackers",
    "attackers_by_name",
    "beside",
    "bound",
    "by_whom",
    "caption",
    "change",
    "cost",
    "dataset",
    "difference",
    "differing",
    "distrusted",
    "done",
    "duration",
    "effect",
    "expected",
    "failure",
    "flag",
    "flags",
    "found",
    "headline",
    "hidden",
    "knew",
    "listing",
    "may_be_shared",
    "mismatch",
    "no_accuracy",
    "note",
    "number",
    "outcome",
    "parameter",
    "plain",
    "planned",
    "points",
    "proof",
    "refusal",
    "shared",
    "size",
    "smallest",
    "span",
    "step",
    "trade_off",
    "trained",
    "verdict",
    "worst",
    "worst_finding",
]
