"""The contract of everything that hides images."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from jaxtyping import Float
from torch import Tensor

if TYPE_CHECKING:
    from hideseek.randomness import Randomness
    from hideseek.records.release import EncodedRelease
    from hideseek.records.samples import Samples
    from hideseek.records.secret import MixingSecret


class Encoder(ABC):
    """A frozen dataclass whose fields are its hyperparameters; `hide` runs it.

    `encodings` does the same for those who train on the fly and keep nothing; `queries` encodes what a model is asked.

    Every call draws fresh keys: to re-encode for the next epoch is to call again. The release's `scheme` is the
    encoder with all that was estimated from the private images filled in, so an attacker can make encodings like it.
    """

    @property
    @abstractmethod
    def masked(self) -> bool:
        """Tell whether signs are flipped at random, so that only absolute values are known."""

    @property
    @abstractmethod
    def meets(self) -> tuple[int, int]:
        """Tell how many private and how many public images meet in a row."""

    @abstractmethod
    def hide(
        self, private: Samples, public: Samples | None, chance: Randomness, rounds: int = 1
    ) -> tuple[EncodedRelease, MixingSecret]:
        """Encode every private image once a round, in a fresh random order."""

    @abstractmethod
    def filled(self, private: Samples, public: Samples | None, chance: Randomness) -> Encoder:
        """Give the encoder with all filled in that it estimates from the private images: the scheme of its releases."""

    @abstractmethod
    def encodings(self, private: Samples, public: Samples | None, chance: Randomness, rows: int) -> Iterator[Samples]:
        """Encode every private image once, in a fresh random order, `rows` at a time, and forget how."""

    @abstractmethod
    def queries(
        self, pool: Samples | None, public: Samples | None, chance: Randomness
    ) -> Callable[[Samples], Float[Tensor, "n c h w"]]:
        """Give the function that encodes images to be asked about: each once, in their order, under fresh keys.

        Partners come from the pool and from the public images; without a pool, the images are each other's partners.
        """
