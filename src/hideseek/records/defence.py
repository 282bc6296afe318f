"""The contract of what a client does to an update before it sends it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from hideseek.records.spent import Spent

if TYPE_CHECKING:
    from torch import Tensor

    from hideseek.chance import Randomness
    from hideseek.records.allowed_update import AllowedUpdate
    from hideseek.records.encoder import Known


class Defence(ABC):
    """A frozen dataclass whose fields are its hyperparameters, which are public; `apply` runs it."""

    defences: ClassVar[dict[str, type[Defence]]] = {}
    """Every defence by its name."""
    mechanism: ClassVar[str]
    source: ClassVar[str] = ""
    """The paper in a few words, and what is ours."""
    harder: ClassVar[dict[str, int]] = {}
    """Parameters that hide more the larger (1) or the smaller (−1) they are."""

    def __init_subclass__(cls, mechanism: str = "") -> None:
        """Take note of a defence that has a name, which no other may have."""
        if mechanism:
            if cls.defences.get(mechanism, cls).__qualname__ != cls.__qualname__:
                raise TypeError(f"there is a defence called {mechanism!r} already.")
            cls.mechanism = mechanism
            cls.defences[mechanism] = cls

    @abstractmethod
    def apply(self, update: dict[str, Tensor], chance: Randomness) -> dict[str, Tensor]:
        """Give the update as it is sent."""

    def before(self, after: AllowedUpdate) -> AllowedUpdate:
        """Tell what an update can have been before this defence, where it can have been `after` afterwards.

        By default as afterwards, as if nothing had been done.
        """
        return after

    def evident(self, update: dict[str, Tensor]) -> bool:
        """Tell whether an update can have come out of this defence; by default nothing speaks against it."""
        return True

    def spends(self) -> Spent:
        """Tell what one update that comes out of this defence spends of any one image; by default nothing is proved."""
        return Spent()

    def known(self, rounds: int) -> tuple[Known, ...]:
        """Say what is known of this setting, with citations."""
        return ()
