"""What an audit finds, all of it: the content of result.json, and all that a report is made from.

It holds figures, facts, and texts that their owners wrote (what a metric means, what is known of a mechanism, templates
of findings), no composed sentence and no image. Sentences are made by report/sentences; pictures are files beside it,
named by their panels. Reports are passed around.
"""

from hideseek.records.result.attacks import (
    AttackResult,
    Claimed,
    Exhibit,
    Exposed,
    Failure,
    FailureKind,
    Outcome,
    Panel,
    Proof,
    RowGroups,
    WeakCase,
)
from hideseek.records.result.audits import (
    FORMAT,
    DatasetSummary,
    Flag,
    FlagKind,
    Provenance,
    Result,
    Stage,
    StepKey,
    StepKind,
    Threat,
    Truth,
    weakest,
)
from hideseek.records.result.figures import Curve, Figure, Harm, Note, NoteKind, Range
from hideseek.records.result.schemes import (
    Accuracy,
    Advice,
    ModelState,
    NoAccuracy,
    NoAccuracyKind,
    SchemeResult,
    Verdict,
)

__all__ = [
    "FORMAT",
    "Accuracy",
    "Advice",
    "AttackResult",
    "Claimed",
    "Curve",
    "DatasetSummary",
    "Exhibit",
    "Exposed",
    "Failure",
    "FailureKind",
    "Figure",
    "Flag",
    "FlagKind",
    "Harm",
    "ModelState",
    "NoAccuracy",
    "NoAccuracyKind",
    "Note",
    "NoteKind",
    "Outcome",
    "Panel",
    "Proof",
    "Provenance",
    "Range",
    "Result",
    "RowGroups",
    "SchemeResult",
    "Stage",
    "StepKey",
    "StepKind",
    "Threat",
    "Truth",
    "Verdict",
    "WeakCase",
    "weakest",
]
