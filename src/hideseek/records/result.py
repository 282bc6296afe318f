"""What an audit finds, all of it: the content of result.json, and all that a report is made from.

It holds figures and facts, no sentence and no image. Sentences are made by report/sentences.py; pictures are files
beside it, named by their panels. Reports are passed around.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Final, Literal

from hideseek.records.encoder import Bound, Change, Effective, Known
from hideseek.records.refusal import Refusal
from hideseek.records.release import Contents

FORMAT: Final = 2


class Outcome(StrEnum):
    """What became of an attack, or of a scheme against an attacker; in the order in which people want to read."""

    BROKEN = "broken"
    """A decisive figure beats its baseline."""
    RESISTED = "resisted"
    """Attacks ran, and none did."""
    WITHHELD = "withheld"
    """The attack did not pass its proofs."""
    FAILED = "failed"
    """It did not run to its end, or could not be judged."""
    NOT_APPLICABLE = "not applicable"

    @property
    def rank(self) -> int:
        """Give its place in the order, from 0."""
        return list(Outcome).index(self)


class Harm(StrEnum):
    """How bad a finding is, the least first."""

    NOTHING = "nothing found"
    PARTS = "parts found"
    LINKED = "rows linked"
    LIKENESS = "likeness found"
    TOLD_APART = "told apart"
    REIDENTIFIED = "re-identified"
    RECOVERED = "images recovered"

    @property
    def rank(self) -> int:
        """Give its place in the order, from 0."""
        return list(Harm).index(self)


@dataclass(frozen=True)
class Range:
    """A mean, and between which values it lies with 95 % confidence, drawn over so many images."""

    mean: float
    low: float
    high: float
    images: int


class NoteKind(StrEnum):
    """What a reader must know of how a claim was scored."""

    EXACT = "exact"
    """`count` items are exact, which is infinitely many `unit`, and count as `value`."""
    NO_TRUTH = "no-truth"
    """`count` of `of` items have no ground truth to be judged by."""
    FEW_IMAGES = "few-images"
    """It is about `count` images, fewer than the `of` that are needed to beat a baseline."""
    ANSWERS_KEPT = "answers-kept"
    """`count` answers were kept, and no more can be looked through."""
    ENLARGED = "enlarged"
    """Images were enlarged from `count` to `of` pixels."""


@dataclass(frozen=True)
class Note:
    """A remark of the judge on a figure."""

    kind: NoteKind
    count: int
    of: int = 0
    value: float = 0.0
    unit: str = ""


@dataclass(frozen=True)
class Figure:
    """How an attack did by one metric, beside baselines that ignore the release."""

    metric: str
    claim: str
    """What the attack claims: reconstruction, public-images, links, masks, attribution …"""
    number: int
    """Which of the attack's claims it is about, from 0."""
    unit: str
    higher_is_better: bool
    meaning: str
    finding: str
    """What the figure says, with {value}, {baseline}, {name} and {images} to be filled in; may be empty."""
    found: Range
    baselines: dict[str, float]
    best_baseline: str
    advantage: Range | None
    """Over the best baseline, image by image; positive where the attack is better."""
    p_value: float | None
    """How likely such an advantage is for an attack that is no better than its baseline (one-sided)."""
    harm: Harm
    """How bad it is if the figure beats its baseline: the verdict rests on it. NOTHING: it is there to be read."""
    beats: bool
    """Decisive: beats its baseline after correction for how many figures decide; else: its 95 % interval does."""
    notes: tuple[Note, ...] = ()

    @property
    def decisive(self) -> bool:
        """Tell whether the verdict rests on it."""
        return self.harm is not Harm.NOTHING


@dataclass(frozen=True)
class Curve:
    """A line to draw, and that of a baseline that ignores the release."""

    title: str
    x_label: str
    y_label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    baseline: tuple[float, ...]
    log_x: bool = False


@dataclass(frozen=True)
class Panel:
    """A picture: a file in the audit's folder `pictures`; a private one is blurred unless its owner says otherwise."""

    label: str
    file: str
    private: bool


@dataclass(frozen=True)
class Exhibit:
    """Pictures to look at side by side, and how the attack did on them: `metric` of image or row `number`."""

    kind: Literal["best", "median", "worst", "example"]
    subject: str
    """What the number is of: image, row."""
    number: int
    metric: str
    value: float
    unit: str
    panels: tuple[Panel, ...]


class FailureKind(StrEnum):
    """Why an attack, a proof or a measurement did not come to an end."""

    TIME_LIMIT = "time-limit"
    """It was stopped after `seconds`."""
    NO_TIME = "no-time"
    """The budget left no time for it; it needs `seconds` at least."""
    ERROR = "error"
    """It raised an error: `text`."""
    REFUSED = "refused"
    """It said what it lacks: `text`."""
    TOO_FEW_IMAGES = "too-few-images"
    """Too few images could be judged for any figure to beat a baseline."""
    NOTHING_JUDGED = "nothing-judged"
    """Nothing that it claims could be judged."""
    NO_WEAK_CASE = "no-weak-case"
    """No weak case could be made for it."""


@dataclass(frozen=True)
class Failure:
    """Why something did not come to an end."""

    kind: FailureKind
    text: str = ""
    seconds: float | None = None


@dataclass(frozen=True)
class WeakCase:
    """What an attack must break before it is believed: a scheme that hides next to nothing, of the owner's images."""

    mechanism: str
    images: int
    rounds: int


@dataclass(frozen=True)
class Proof:
    """Whether an attack does what it must before it is believed: break a weak case, be at chance on noise."""

    kind: Literal["weak case", "noise"]
    passed: bool
    case: WeakCase | None = None
    figures: tuple[Figure, ...] = ()
    failure: Failure | None = None


@dataclass(frozen=True)
class AttackResult:
    """One attack on one scheme."""

    attack: str
    summary: str
    source: str
    """The paper, and what is ours."""
    threat: str
    """The weakest attacker who can run it."""
    contents: Contents
    """What the attacker saw."""
    given: tuple[str, ...]
    """The withheld fields of the release that he was given."""
    outcome: Outcome
    harm: Harm
    settings: dict[str, Any]
    allowed: float
    """Seconds that it was given."""
    seconds: float
    memory: int
    refusal: Refusal | None = None
    """Why it does not apply."""
    failure: Failure | None = None
    """Why it failed."""
    figures: tuple[Figure, ...] = ()
    curves: tuple[Curve, ...] = ()
    exhibits: tuple[Exhibit, ...] = ()
    proofs: tuple[Proof, ...] = ()
    remarks: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """What an audit says of a scheme against one kind of attacker."""

    threat: str
    outcome: Outcome
    by: str
    """The attack that did most harm, or came nearest; empty where none ran."""
    broke: tuple[str, ...] = ()
    """The attacks that broke it, the worst first."""
    resisted: tuple[str, ...] = ()
    """The attacks that ran and did not."""
    missing: tuple[str, ...] = ()
    """The attacks that failed or were withheld."""
    seconds: float = 0.0
    """What the attacks took that it resisted."""


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


class NoAccuracyKind(StrEnum):
    """Why accuracies were not measured."""

    NOT_ASKED = "not-asked"
    NO_LABELS = "no-labels"
    ONE_CLASS = "one-class"
    TOO_FEW_IMAGES = "too-few-images"
    UNREADABLE_LABELS = "unreadable-labels"
    NO_TIME = "no-time"


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
    bound: Bound | None = None


@dataclass(frozen=True)
class Threat:
    """A kind of attacker, by the withheld fields of a release that he is given."""

    name: str
    title: str
    """An attacker who …"""
    knows: str
    """What he knows, as a list of things."""
    gives: tuple[str, ...] = ()

    def covers(self, other: Threat) -> bool:
        """Tell whether this attacker knows all that another one does."""
        return set(other.gives) <= set(self.gives)


@dataclass(frozen=True)
class DatasetSummary:
    """A set of images, in numbers."""

    address: str
    images: int
    shape: tuple[int, int, int]
    classes: int
    normalisation: str
    overlap: int = 0
    """How many of them are private images too."""


class StepKind(StrEnum):
    """A kind of step of an audit."""

    ACCURACY = "accuracy"
    HIDE = "hide"
    ATTACK = "attack"
    ADVICE = "advice"


@dataclass(frozen=True)
class StepKey:
    """Names a step: its kind, the scheme, and the attack, where there are any."""

    kind: StepKind
    scheme: str = ""
    attack: str = ""


@dataclass(frozen=True)
class Stage:
    """A step of the audit: what it was expected to take, and took, in seconds."""

    key: StepKey
    expected: float
    took: float | None = None
    left_out: bool = False


class FlagKind(StrEnum):
    """A reason to distrust a part of the audit."""

    REPRODUCIBLE = "reproducible"
    OVERLAP = "overlap"
    FEW_IMAGES = "few images"
    NOTHING_LEARNT = "nothing learnt"
    EFFECTIVE_VALUE = "effective value"
    FAILED = "failed"
    WITHHELD = "withheld"
    WEAKER_BEATS_STRONGER = "weaker beats stronger"
    NOT_SIGNIFICANT = "not significant"
    UNDER_BASELINE = "under its baseline"


@dataclass(frozen=True)
class Flag:
    """A reason to distrust a part of the audit, the part that it is about, and the facts that a sentence needs."""

    kind: FlagKind
    scheme: str = ""
    """Empty: the whole audit."""
    attack: str = ""
    facts: dict[str, str | int | float] = field(default_factory=dict)


@dataclass(frozen=True)
class Provenance:
    """Where the figures come from."""

    started: str
    seconds: float
    command: str
    versions: dict[str, str]
    commit: str
    machine: str
    cores: int
    memory: int
    device: str
    seed: int | None
    budget: float
    settings: dict[str, Any]


@dataclass(frozen=True)
class Result:
    """An audit, whole."""

    __pydantic_config__: ClassVar = {"extra": "forbid", "allow_inf_nan": False}  # of all records in it

    format: Literal[2]
    private: DatasetSummary
    public: DatasetSummary | None
    own: DatasetSummary | None
    trained_on: DatasetSummary | None
    """What accuracies are of; None where none were measured, and `why_no_accuracy` says why."""
    why_no_accuracy: NoAccuracy | None
    tested_on: int
    vanilla: Accuracy | None
    threats: tuple[Threat, ...]
    schemes: tuple[SchemeResult, ...]
    plan: tuple[Stage, ...]
    flags: tuple[Flag, ...]
    provenance: Provenance
