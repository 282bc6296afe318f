"""What became of a scheme: verdicts, advice, accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from hideseek.records.encoder import Bound, Change, Effective, Known
from hideseek.records.refusal import Refusal
from hideseek.records.result.attacks import AttackResult, Failure, Outcome
from hideseek.records.result.figures import Range


@dataclass(frozen=True)
class Verdict:
    """What an audit says of a scheme against one kind of attacker."""

    threat: str
    outcome: Outcome
    """NOT_APPLICABLE: no attack that uses what he knows besides applies; what weaker attackers found holds for him."""
    by: str
    """The attack that did most harm, or came nearest; empty where none ran."""
    broke: tuple[str, ...] = ()
    """The attacks by which he breaks it, the worst first."""
    leaked: tuple[str, ...] = ()
    """The attacks by which it leaks something to him that is no private image, the worst first."""
    resisted: tuple[str, ...] = ()
    """The attacks that ran, and by which he finds nothing."""
    missing: tuple[str, ...] = ()
    """The attacks of his that failed or were withheld."""
    not_tried: tuple[str, ...] = ()
    """The attacks of his that there was no time for, or not to their end."""
    seconds: float = 0.0
    """What the attacks took that it resisted."""

    @property
    def open(self) -> bool:
        """Tell whether more is to be tried before anything is said: nothing was found, and not all that applies ran."""
        if self.outcome is Outcome.RESISTED:
            return bool(self.not_tried)
        return self.outcome in (Outcome.WITHHELD, Outcome.FAILED, Outcome.NOT_TRIED)


@dataclass(frozen=True)
class Advice:
    """What to change, and what was measured that speaks for or against it."""

    change: Change
    attack: str
    helps: bool | None
    """Whether the attack no longer beat its baseline after the change; None where nothing was measured."""
    refusal: Refusal | None = None
    """Why the attack does not apply after the change."""
    failure: Failure | None = None
    """Why it could not be measured."""
    metric: str = ""
    unit: str = ""
    before: Range | None = None
    after: Range | None = None
    baseline: float | None = None


@dataclass(frozen=True)
class Accuracy:
    """How well a model does that was trained on what was hidden, or on the images themselves."""

    accuracy: Range
    model: str
    epochs: int
    steps: int
    seconds: float
    largest_class: float | None = None
    """What always naming the largest class of the test images scores; None in audits that did not keep it."""

    @property
    def exceeds_largest_class(self) -> bool:
        """Tell whether its interval lies above what always naming the largest class scores, as far as that is known."""
        return self.largest_class is None or self.accuracy.low > self.largest_class


@dataclass(frozen=True)
class ModelState:
    """How far the model was trained that a scheme's updates are of: what leaks depends on it."""

    series: str
    """Names the schemes that differ by this state alone."""
    epoch: int
    """Epochs that it was trained for before."""
    accuracy: Range
    """Of the images that it was trained on."""
    new_accuracy: Range | None = None
    """Of images that it was not trained on, where there are any."""


class NoAccuracyKind(StrEnum):
    """Why accuracies were not measured."""

    NOT_ASKED = "not-asked"
    NO_LABELS = "no-labels"
    ONE_CLASS = "one-class"
    TOO_FEW_IMAGES = "too-few-images"
    UNREADABLE_LABELS = "unreadable-labels"


@dataclass(frozen=True)
class NoAccuracy:
    """Why accuracies were not measured; `text` is what reading the labels said."""

    kind: NoAccuracyKind
    text: str = ""


@dataclass(frozen=True)
class SchemeResult:
    """One scheme: what it costs, and what it leaks."""

    name: str
    summary: str
    mechanism: str
    parameters: dict[str, Any]
    rounds: int
    items: int
    """Rows or updates that are shared."""
    accuracy: Accuracy | None
    lost: float | None
    """Accuracy of vanilla training less that of this scheme."""
    verdicts: tuple[Verdict, ...]
    attacks: tuple[AttackResult, ...]
    known: tuple[Known, ...] = ()
    advice: tuple[Advice, ...] = ()
    effective: tuple[Effective, ...] = ()
    bounds: tuple[Bound, ...] = ()
    """What is proved."""
    state: ModelState | None = None
    """The state of the model that updates are of, where several are audited side by side."""
