"""The contract of everything that seeks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Generic, Self, TypeVar

from hideseek.records.release import Release
from hideseek.records.result.figures import Harm

if TYPE_CHECKING:
    from hideseek.chance import Randomness
    from hideseek.records.evidence import Evidence
    from hideseek.records.refusal import Refusal
    from hideseek.records.task import Task

R = TypeVar("R", bound=Release)


class Attack(ABC, Generic[R]):
    """A frozen dataclass whose fields are its hyperparameters; `seek` runs it on what was shared, and on nothing else.

    An attack returns evidence or raises; it never sees a secret. What it needs beyond the release is a field of the
    release: `needs` names the fields that must not be None. The other methods are for those who plan: where it does
    not apply, how its work grows, how it fits into less. They may be left out.
    """

    sees: ClassVar[type[Release]]
    needs: ClassVar[tuple[str, ...]] = ()
    source: ClassVar[str] = ""
    """The paper in a few words, and what is ours."""
    shows: ClassVar[Harm] = Harm.RECOVERED
    """The worst harm that it can show: audits run the attacks first that can show the worst."""

    alarm: ClassVar[str] = ""
    """What it means that there is something for this attack to work on at all, where no honest release has that."""

    @abstractmethod
    def seek(self, release: R, chance: Randomness) -> Evidence:
        """Run the attack; refuse, in one sentence, a release that it cannot be run on."""

    def refuses(self, release: R) -> Refusal | None:
        """Say why the attack does not apply to a release of the kind that it `sees`; None where it does."""
        return None

    def work(self, task: Task) -> float | None:
        """Count the work, in multiplications of a large matrix product; None: unknown.

        What counts is how it grows with the task and the settings: a run of the attack on a small release tells how
        long a unit takes.
        """
        return None

    def within(self, work: float, task: Task) -> Self:
        """Give the attack with settings that take at most so much work.

        Never beyond the present settings, nor below the least that makes sense: then its work is above `work`.
        """
        return self
