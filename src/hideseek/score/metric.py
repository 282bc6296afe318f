"""What a metric is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor

from hideseek.records import Claim
from hideseek.records.mixing_secret import MixingSecret

Scores = Float[Tensor, " n"]


@dataclass(frozen=True)
class Metric:
    """A function of a claim and the truth that gives one score an item, and what people need to read it.

    A score that is NaN says that there is nothing to judge the item by. A metric that does not apply to the claim at
    all raises `BadInput` with the reason.
    """

    of: type[Claim]
    """The kind of claim that it judges."""
    score: Callable[[Any, MixingSecret], Scores]
    """Gives one score an item, never averaged early."""
    groups: Callable[[Any, MixingSecret], Int[Tensor, " n"]]
    """Says which items rise and fall together, since they are about the same private image."""
    higher_is_better: bool
    """Whether the attacker wants it high."""
    unit: str
    """What the numbers are: dB, share, …; empty where they are mere numbers."""
    meaning: str
    """One line for people."""
    limit: float | None = None
    """The largest absolute value that a score can have: what is above, an exact reconstruction, counts as this."""
    chance: Callable[[Any, MixingSecret], Scores] | None = None
    """Gives what each item scores by chance on average, where no claim of an attacker without a clue shows it."""
    note: Callable[[Any, MixingSecret], str] | None = None
    """Says what a reader must know of how this claim was scored, if anything."""
    skip_unless_named: Callable[[Any, MixingSecret], str] | None = None
    """Says why it should be run only if asked for by name: it takes long, or a large file is missing; else nothing."""
