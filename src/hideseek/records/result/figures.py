"""How an attack did, in numbers beside baselines, and lines to draw."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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

    @property
    def breaks(self) -> bool:
        """Tell whether private images come back or are picked from a gallery; less than that is a leak."""
        return self in (Harm.REIDENTIFIED, Harm.RECOVERED)


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
    NO_GROUND_TRUTH = "no-ground-truth"
    """`count` of `of` items have no ground truth to be judged by."""
    FEW_IMAGES = "few-images"
    """It is about `count` images, fewer than the `of` that are needed to beat a baseline."""
    ANSWERS_KEPT = "answers-kept"
    """`count` answers were kept, and no more can be looked through."""
    ENLARGED = "enlarged"
    """Images were enlarged from `count` to `of` pixels."""
    REFUTED_EPSILON = "refuted-epsilon"
    """`count` candidates, of which `of` are private, refute an ε up to `value`, at the δ in `unit`."""


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
    """Decisive: beats its baseline after correction for how many figures decide; else: with 95 % confidence."""
    notes: tuple[Note, ...] = ()
    given: tuple[str, ...] = ()
    """The withheld fields that an attacker needs for this finding, besides those that the attack needs."""
    smallest: float | None = None
    """Decisive: the least value that would have beaten the baseline, given how the values scatter."""

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
