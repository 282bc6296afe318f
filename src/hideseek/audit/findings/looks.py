"""Looks: an attack may be run again with more work where time is left, and what was found before is kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hideseek.records import Attack
from hideseek.records.result import AttackResult, FailureKind, Outcome

RAN = (Outcome.BROKEN, Outcome.CONFIRMED, Outcome.LEAKS, Outcome.RESISTED, Outcome.UNJUDGED)


@dataclass(frozen=True)
class Look:
    """One run of an attack: what came of it, and with how much work."""

    result: AttackResult
    work: float | None
    """That it was set to, in the unit of attacks; None: unknown."""
    full: bool
    """Whether its settings were its own, not shortened."""
    took: float
    """Seconds in all, with its proofs if they were new, and judging."""
    proving: float = 0.0
    """Seconds of these for proofs."""

    @property
    def judging(self) -> float:
        """Seconds for all but proofs and the attack itself."""
        return max(0.0, self.took - self.proving - self.result.seconds)


def best(looks: Sequence[Look]) -> Look:
    """Give the look that counts: the last one, unless an earlier one found worse."""
    return min(reversed(looks), key=lambda look: (look.result.outcome.rank, -look.result.harm.rank))


def may_gain(attack: Attack[Any], looks: Sequence[Look]) -> bool:
    """Tell whether a look with more work could find more.

    It could not where the settings are the attack's own, where it has shown the worst that it can, and where it fails
    or is withheld for other reasons than that it saw too little.
    """
    result = best(looks).result
    too_little = result.failure is not None and result.failure.kind is FailureKind.TOO_FEW_IMAGES
    if looks[-1].full or not (result.outcome in RAN or too_little):
        return False
    return result.harm.rank < attack.shows.rank
