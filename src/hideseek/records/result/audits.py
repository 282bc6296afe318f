"""An audit as a whole: who attacks, what was done, what to distrust, where figures come from."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Final, Literal

from hideseek.records.result.schemes import Accuracy, NoAccuracy, SchemeResult

FORMAT: Final = 3


class Truth(StrEnum):
    """What an audit judges by."""

    KNOWN = "known"
    """The images, and how every item was made of them."""
    MATCHED = "matched"
    """The images alone: guesses are matched to them, and what is said of items cannot be judged."""
    NONE = "none"
    """Nothing: what attacks find is not judged."""


@dataclass(frozen=True)
class Threat:
    """A kind of attacker, by the withheld fields of a release that he is given."""

    name: str
    title: str
    """An attacker who …"""
    knows: str
    """What he knows, as a list of things."""
    gives: tuple[str, ...] = ()

    def has(self, fields: Iterable[str]) -> bool:
        """Tell whether this attacker is given all of these fields."""
        return set(fields) <= set(self.gives)

    def covers(self, other: Threat) -> bool:
        """Tell whether this attacker knows all that another one does."""
        return self.has(other.gives)


def weakest(threats: Iterable[Threat], fields: Collection[str] = ()) -> Threat | None:
    """Give the attacker who is given fewest fields, and all of these; None where nobody is."""
    return min((each for each in threats if each.has(fields)), key=lambda each: len(each.gives), default=None)


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
    patients: int | None = None
    """How many people they are of, where that is known: then each counts as one record."""


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
    """A step of the audit: what it was expected to take at first, and took, in seconds of work."""

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
    NOT_TRIED = "not tried"
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
    """Of this process's own work; what it had to wait for others is not in it."""
    command: str
    versions: dict[str, str]
    commit: str
    machine: str
    cores: int
    memory: int
    device: str
    seed: int | None
    budget: float
    """Seconds of work that were given."""
    settings: dict[str, Any]
    wall: float = 0.0
    """Seconds that passed."""
    wall_limit: float = 0.0
    """Seconds after which attacks would have been stopped, however busy the machine."""


@dataclass(frozen=True)
class Result:
    """An audit, whole."""

    __pydantic_config__: ClassVar = {"extra": "forbid", "allow_inf_nan": False}  # of all records in it

    format: Literal[3]
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
    others: DatasetSummary | None = None
    """The images of a gallery of candidates that are not private; None: the private ones, mirrored."""
    truth: Truth = Truth.KNOWN
    """What was judged by; without the truth, `private` is what the release says of the images in it."""
