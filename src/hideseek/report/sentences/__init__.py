"""Every sentence that a person reads of an audit, made from its result: for the page, the terminal and other files."""

from hideseek.report.sentences.attacks import attack, failure, knew, proof, refusal
from hideseek.report.sentences.comparison import difference, differing, mismatch
from hideseek.report.sentences.findings import caption, found, note, worst_finding
from hideseek.report.sentences.flags import DistrustedPart, distrusted, flag, flags
from hideseek.report.sentences.numbers import cost, duration, listing, number, parameter, plain, points, size, span
from hideseek.report.sentences.overview import attackers, dataset, headline, no_accuracy, outcome, step
from hideseek.report.sentences.progress import attacked, expected, hidden, may_be_shared, planned, trained
from hideseek.report.sentences.schemes import (
    NO_VERDICT,
    advice,
    advised,
    bound,
    change,
    effect,
    shared,
    trade_off,
    verdict,
)

__all__ = [
    "NO_VERDICT",
    "DistrustedPart",
    "advice",
    "advised",
    "attack",
    "attacked",
    "attackers",
    "bound",
    "caption",
    "change",
    "cost",
    "dataset",
    "difference",
    "differing",
    "distrusted",
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
    "span",
    "step",
    "trade_off",
    "trained",
    "verdict",
    "worst_finding",
]
