"""The contract of everything that seeks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from hideseek.records.release import Release

if TYPE_CHECKING:
    from hideseek.randomness import Randomness
    from hideseek.records.evidence import Evidence

R = TypeVar("R", bound=Release)


class Attack(ABC, Generic[R]):
    """A frozen dataclass whose fields are its hyperparameters; `seek` runs it on what was shared, and on nothing else.

    An attack returns evidence or raises; it never sees a secret. What it needs beyond the release is a field of the
    release: `needs` names the fields that must not be None.
    """

    sees: ClassVar[type[Release]]
    needs: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def seek(self, release: R, chance: Randomness) -> Evidence:
        """Run the attack; refuse, in one sentence, a release that it cannot be run on."""
