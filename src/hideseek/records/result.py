"""What an audit finds, all of it: the content of result.json, and all that a report is made from.

It holds figures and words, no image: pictures are files beside it, named by their panels. Reports are passed around.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

FORMAT: Final = 1

Outcome = Literal["broken", "resisted", "withheld", "failed", "not applicable"]
"""broken: beats its floor. resisted: ran, did not. withheld: did not pass its proofs. failed: did not run."""


@dataclass(frozen=True)
class Range:
    """A mean, and between which values it lies with 95 % confidence, drawn over so many images."""

    mean: float
    low: float
    high: float
    images: int


@dataclass(frozen=True)
class Figure:
    """How an attack did by one metric, beside what somebody without a clue scores."""

    metric: str
    kind: str
    """What the attack claims: Reconstruction, Uncovered, Links, Masks, Attribution."""
    claim: int
    """Which of the attack's claims it is about."""
    unit: str
    higher_is_better: bool
    meaning: str
    found: Range
    floors: dict[str, float]
    best_floor: str
    advantage: Range | None
    """Over the best floor, image by image; positive where the attack is better."""
    doubt: float | None
    """How likely such an advantage is for an attack that is no better than its floor (Student's test over images)."""
    decisive: bool
    """Whether the verdict rests on it; the others are there to be read."""
    beats: bool
    """Decisive: beats its floor after correction for how many figures decide; else: its 95 % interval does."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Curve:
    """A line to draw, and that of someone without a clue."""

    title: str
    x_label: str
    y_label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    floor: tuple[float, ...]
    log_x: bool = False


@dataclass(frozen=True)
class Panel:
    """A picture: a file in the audit's folder `pictures`; a private one is blurred unless its owner says otherwise."""

    label: str
    file: str
    private: bool


@dataclass(frozen=True)
class Exhibit:
    """Pictures to look at side by side: original, shared, recovered."""

    kind: Literal["best", "median", "worst", "example"]
    caption: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class Proof:
    """Whether an attack does what it must before it is believed: break a weak case, be at chance on noise."""

    kind: Literal["planted", "noise"]
    passed: bool
    sentence: str


@dataclass(frozen=True)
class Tried:
    """One attack on one scheme."""

    attack: str
    summary: str
    source: str
    """The paper, and what is ours."""
    threat: str
    """The weakest attacker who can run it."""
    knew: str
    outcome: Outcome
    sentence: str
    """How it broke the scheme; that it did not; why it failed or does not apply."""
    harm: int
    """How bad: 6 images recovered, 5 re-identified, 4 told apart, 3 likeness, 2 rows linked, 1 parts; 0 nothing."""
    settings: dict[str, Any]
    allowed: float
    """Seconds that it was given."""
    seconds: float
    memory: int
    figures: tuple[Figure, ...] = ()
    curves: tuple[Curve, ...] = ()
    exhibits: tuple[Exhibit, ...] = ()
    proofs: tuple[Proof, ...] = ()
    remarks: dict[str, Any] | None = None


@dataclass(frozen=True)
class Verdict:
    """What an audit says of a scheme against one kind of attacker."""

    threat: str
    outcome: Literal["broken", "resisted", "failed", "not applicable"]
    sentence: str
    by: str
    """The attack that did most harm, or came nearest; empty where none ran."""
    bound: str
    """What is proved, where anything is; else empty."""


@dataclass(frozen=True)
class Known:
    """What is known of a configuration without running anything."""

    sentence: str
    citation: str


@dataclass(frozen=True)
class Advice:
    """What to change, and what was measured that speaks for or against it."""

    change: str
    sentence: str
    helps: bool | None
    """Whether the attack no longer beat its floor after the change; None where nothing was measured."""
    attack: str = ""
    metric: str = ""
    before: Range | None = None
    after: Range | None = None
    floor: float | None = None


@dataclass(frozen=True)
class Effective:
    """A parameter as it was stated, and what it comes to in the space that is shared."""

    name: str
    stated: float
    effective: float
    meaning: str


@dataclass(frozen=True)
class Accuracy:
    """How well a model does that was trained on what was hidden, or on the images themselves."""

    accuracy: Range
    model: str
    epochs: int
    steps: int
    seconds: float


@dataclass(frozen=True)
class Audited:
    """One scheme: what it costs, and what it leaks."""

    name: str
    summary: str
    mechanism: str
    parameters: dict[str, Any]
    rounds: int
    rows: int
    accuracy: Accuracy | None
    lost: float | None
    """Accuracy of vanilla training less that of this scheme."""
    verdicts: tuple[Verdict, ...]
    attacks: tuple[Tried, ...]
    known: tuple[Known, ...] = ()
    advice: tuple[Advice, ...] = ()
    effective: tuple[Effective, ...] = ()


@dataclass(frozen=True)
class Threat:
    """A kind of attacker, by what he knows; each knows all that those before him know."""

    name: str
    title: str
    knows: str


@dataclass(frozen=True)
class Described:
    """A set of images, in words and numbers."""

    address: str
    images: int
    shape: tuple[int, int, int]
    classes: int
    normalisation: str
    overlap: int = 0
    """How many of them are private images too."""


@dataclass(frozen=True)
class Stage:
    """A part of the audit: what it was expected to take, and took, in seconds."""

    name: str
    expected: float
    took: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Flag:
    """A reason to distrust a part of the audit."""

    check: str
    subject: str
    """The scheme, or scheme and attack with a slash between; empty: the whole audit."""
    sentence: str


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

    format: Literal[1]
    private: Described
    public: Described | None
    own: Described | None
    trained_on: Described | None
    """What accuracies are of; None where none were measured, and `untrained` says why."""
    untrained: str
    tested_on: int
    vanilla: Accuracy | None
    threats: tuple[Threat, ...]
    schemes: tuple[Audited, ...]
    plan: tuple[Stage, ...]
    flags: tuple[Flag, ...]
    provenance: Provenance
