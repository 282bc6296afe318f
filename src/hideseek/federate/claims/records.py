"""What is found of a project's privacy settings: one record a setting, and what it is judged under."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from hideseek.errors import BadInput

Verdict = Literal["holds", "does not hold", "not known", "no ε stated"]
ROUNDING = 1e-9  # by which a real ε may be above the stated one


class NotKnown(ValueError):  # noqa: N818 (what it says, not that it is an error)
    """A value that cannot be told without running the project; the message says which, and why."""


@dataclass(frozen=True)
class Assumptions:
    """What the project itself may not say."""

    delta: float = 1e-5
    """δ, where a setting states none."""
    rounds: int | None = None
    """Rounds of the run; by default what the project says."""
    neighbours: Literal["removed", "replaced"] = "removed"
    """What a client could have done instead: send nothing, or any other update. It is of Flower's settings alone."""
    stated_for: Literal["run", "round"] = "run"
    """What a stated ε is taken to be for."""
    parameters: int | None = None
    """How many values an update has."""
    sample_rate: float | None = None
    """The share of a client's examples in a batch (Opacus)."""
    local_steps: int | None = None
    """Steps of a client in a round (Opacus)."""

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise BadInput(f"δ must be between 0 and 1, not {self.delta}.")
        for name, value in (("rounds", self.rounds), ("parameters", self.parameters), ("steps", self.local_steps)):
            if value is not None and not 1 <= value <= 10**15:
                raise BadInput(f"the number of {name} must be between 1 and 10^15, not {value}.")
        if self.sample_rate is not None and not 0 < self.sample_rate <= 1:
            raise BadInput(f"the sample rate must be above 0 and at most 1, not {self.sample_rate}.")


@dataclass(frozen=True)
class Given:
    """A privacy setting as it stands in the project."""

    name: str
    place: str
    """File and line."""
    values: Mapping[str, float | NotKnown] = field(default_factory=dict)
    """Its arguments that are numbers, or why they are not known."""
    unused: str = ""
    """Why it takes no part, where it does not: a mod in no list of mods, a filter of what comes in."""
    arguments: frozenset[str] = frozenset()
    """The names of all arguments, numbers or not."""

    def number(self, name: str, default: float | None = None) -> float:
        """Give an argument; what is not there, or cannot be told, is NotKnown."""
        if name not in self.values:
            if default is None:
                raise NotKnown(f"{name} is not given")
            return default
        value = self.values[name]
        if isinstance(value, NotKnown):
            raise NotKnown(f"{name} {value}")
        return value


@dataclass(frozen=True)
class Setting:
    """A privacy setting, what it states, and what it really gives."""

    setting: str
    place: str
    reason: str
    verdict: Verdict = "no ε stated"
    stated_epsilon: float | None = None
    stated_delta: float | None = None
    round_epsilon: float | None = None
    """The real ε of one round; None where there is none to compute, or it is not known."""
    run_epsilon: float | None = None
    """The real ε over all rounds."""
    delta: float | None = None
    """The δ of the real ε."""
    rounds: int | None = None
    assumption: str = ""
    at_least: bool = False
    """The real ε is this or more: something that adds to it is not known."""


@dataclass(frozen=True)
class Situation:
    """What settings are judged by: the assumptions, the rounds, and which other settings the project has."""

    assumptions: Assumptions
    rounds: int | None
    names: frozenset[str] = frozenset()
    """The settings of the project that take part."""
    unclear: frozenset[str] = frozenset()
    """Those of which it is not known whether they do."""
    local_epochs: int | None = None


@dataclass(frozen=True)
class Report:
    """All settings of a project."""

    project: str
    kind: str
    rounds: int | None
    settings: tuple[Setting, ...]

    @property
    def broken(self) -> tuple[Setting, ...]:
        """The settings that give less than they state."""
        return tuple(each for each in self.settings if each.verdict == "does not hold")

    @property
    def unknown(self) -> tuple[Setting, ...]:
        """The settings that could not be computed."""
        return tuple(each for each in self.settings if each.verdict == "not known")


def judged(stated: float, one_round: float, run: float | None, stated_for: Literal["run", "round"]) -> Verdict:
    """Compare a stated ε with the real one.

    >>> judged(1.0, 0.9, 3.0, "run"), judged(1.0, 0.9, 3.0, "round"), judged(1.0, 0.9, None, "run")
    ('does not hold', 'holds', 'not known')
    """
    allowed = stated * (1 + ROUNDING)
    if one_round > allowed or math.isnan(one_round):
        return "does not hold"
    if stated_for == "round":
        return "holds"
    if run is None:
        return "not known"
    return "does not hold" if run > allowed else "holds"


def not_known(given: Given, why: object) -> Setting:
    """Say that a setting could not be computed."""
    return Setting(given.name, given.place, f"not known: {why}", verdict="not known")
