"""What became of an attack: its outcome, its proofs, its figures and pictures, or why there are none."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from hideseek.records.refusal import Refusal
from hideseek.records.release import Contents
from hideseek.records.result.figures import Curve, Figure, Harm


class Outcome(StrEnum):
    """What became of an attack, or of a scheme against an attacker; in the order in which people want to read."""

    BROKEN = "broken"
    """Private images come back, or are picked from a gallery: a figure whose harm breaks beats its baseline."""
    CONFIRMED = "confirmed"
    """There is no truth to judge by, and the attacker himself is sure of some of what he found."""
    LEAKS = "leaks"
    """Another decisive figure beats its baseline: something about rows, keys, labels, membership or public images."""
    RESISTED = "resisted"
    """Attacks ran, and none did."""
    UNJUDGED = "not judged"
    """It ran, and what it found cannot be judged without the truth."""
    WITHHELD = "withheld"
    """The attack did not pass its proofs."""
    FAILED = "failed"
    """It raised an error, or could not be judged."""
    NOT_TRIED = "not tried"
    """There was no time for it, or it was stopped before its end. The question is open."""
    NOT_APPLICABLE = "not applicable"
    """There is nothing in the scheme for it to work on."""

    @property
    def rank(self) -> int:
        """Give its place in the order, from 0."""
        return list(Outcome).index(self)


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
    """It said what it lacks: `refusal`, or `text`."""
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
    refusal: Refusal | None = None


@dataclass(frozen=True)
class WeakCase:
    """What an attack must break before it is believed: a scheme that hides next to nothing, of the owner's images."""

    mechanism: str
    images: int
    rounds: int


@dataclass(frozen=True)
class Proof:
    """Whether an attack does what it must before it is believed: succeed on a weak case, be at chance on noise."""

    kind: Literal["weak case", "noise"]
    passed: bool
    case: WeakCase | None = None
    figures: tuple[Figure, ...] = ()
    failure: Failure | None = None


@dataclass(frozen=True)
class Exposed:
    """How far an attack's answer points to one private image, by its place in the private set, from 0."""

    image: int
    share: float
    """Of the other images of the gallery, those that fit the answer worse: 1 for the first place, ½ by chance."""
    correlation: float | None = None
    """Of the best guess with the image, where the attack reconstructs some."""
    patient: int | None = None
    """Whose image it is, where patients are known: counted from 0, in the order of their first images."""


@dataclass(frozen=True)
class RowGroups:
    """Rows that an attack puts together, since it takes them to share an image."""

    rows: int
    """That are in any group."""
    sizes: dict[int, int]
    """How many groups there are of so many rows."""


@dataclass(frozen=True)
class Claimed:
    """What an attack claims that nobody could judge: so many things of a kind, and of how many it is sure by itself."""

    claim: str
    """reconstruction, links, masks …"""
    count: int
    finding: str
    """What that says, with {count}, {taken} and {groups} in it."""
    sure: int | None = None
    """None: the attack cannot tell."""
    taken: int | None = None
    """How many it takes for true by its own threshold; None: it has none."""
    groups: RowGroups | None = None


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
    exposed: tuple[Exposed, ...] = ()
    """The private images that it points to most clearly, ten at most; none where it found nothing."""
    claimed: tuple[Claimed, ...] = ()
    """What it claims that could not be judged, since the truth about it is not here."""
    alarm: str = ""
    """What it means that it applies, where no honest release gives it anything to work on."""
