"""Every sentence that a person reads of an audit, made from its result: for the page, the terminal and other files."""

from hideseek.report.sentences.attacks import attack, failure, knew, proof, refusal
from hideseek.report.sentences.comparison import difference, mismatch
from hideseek.report.sentences.findings import caption, found, note, worst_finding
from hideseek.report.sentences.flags import DistrustedPart, flag, flags
from hideseek.report.sentences.numbers import duration, listing, number, parameter, plain, points, size, span
from hideseek.report.sentences.overview import attackers, dataset, headline, no_accuracy, outcome, step
from hideseek.report.sentences.progress import attacked, hidden, trained
from hideseek.report.sentences.schemes import advice, bound, change, effect, shared, verdict

__all__ = [
    "DistrustedPart",
    "advice",
    "attack",
    "attacked",
    "attackers",
    "bound",
    "caption",
    "change",
    "dataset",
    "difference",
    "duration",
    "effect",
    "failure",
    "flag",
    "flags",
    "found",
    "headline",
    "hidden",
    "knew",
    "listing",
    "mismatch",
    "no_accuracy",
    "note",
    "number",
    "outcome",
    "parameter",
    "plain",
    "points",
    "proof",
    "refusal",
    "shared",
    "size",
    "span",
    "step",
    "trained",
    "verdict",
    "worst_finding",
]
