"""The contract of everything that hides images."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hideseek.randomness import Randomness
    from hideseek.records.release import EncodedRelease
    from hideseek.records.samples import Samples
    from hideseek.records.secret import MixingSecret


class Encoder(ABC):
    """A frozen dataclass whose fields are its hyperparameters; `hide` runs it.

    Every call draws fresh keys: to re-encode for the next epoch is to call again. The release's `scheme` is the
    encoder with all that was estimated from the private images filled in, so an attacker can make encodings like it.
    """

    @abstractmethod
    def hide(self, private: Samples, public: Samples | None, chance: Randomness) -> tuple[EncodedRelease, MixingSecret]:
        """Encode every private image once, in a fresh random order."""
