"""What a metric is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.records.result import Note
from hideseek.records.secret import Secret
from hideseek.score.significance import Significance

Scores = Float[Tensor, " n"]


@dataclass(frozen=True)
class Metric:
    """A function of a claim and the ground truth that gives one score an item, and what people need to read it.

    A score that is NaN says that there is nothing to judge the item by. A metric that does not apply to the claim at
    all raises `BadInput` with the reason.
    """

    score: Callable[[Any, Secret], Scores]
    """Gives one score an item, never averaged early."""
    groups: Callable[[Any, Secret], Int[Tensor, " n"]]
    """Says which items rise and fall together, since they are about the same private image."""
    higher_is_better: bool
    """Whether the attacker wants it high."""
    unit: str
    """What the numbers are: dB, share, …; empty where they are mere numbers."""
    meaning: str
    """One line for people."""
    finding: str = ""
    """What the figure says in a report, with {value}, {baseline}, {name} (of the baseline) and {images} (the number of
    private images) to be filled in; a figure that decides needs one."""
    limit: float | None = None
    """The largest absolute value that a score can have: what is above, an exact reconstruction, counts as this."""
    chance: Callable[[Any, Secret], Scores] | None = None
    """Gives what each item scores by chance on average, where it is known exactly."""
    test: Callable[[Any, Secret, Randomness], Significance | None] | None = None
    """Tests whether the mean is beyond what anybody could have without the release, where images are not independent
    or more is known; None: images are compared one by one with the best baseline, see `significance`."""
    needs: tuple[str, ...] = ()
    """The withheld fields of a release that an attacker needs to make this finding, besides those of the attack."""
    note: Callable[[Any, Secret], Note | None] | None = None
    """Says what a reader must know of how this claim was scored, if anything."""
    skip_unless_named: Callable[[Any, Secret], str] | None = None
    """Says why it should be run only if asked for by name: it takes long, or a large file is missing; else nothing."""
    work: Callable[[int, tuple[int, int, int]], float] | None = None
    """Counts the multiplications of so many guesses of a shape, with baselines, where it takes far longer than others:
    who has little time leaves it out."""
