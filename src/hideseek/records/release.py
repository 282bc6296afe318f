"""What leaves the house: everything in a Release is in the attacker's hands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Self

from jaxtyping import Float
from torch import Tensor

from hideseek.records.samples import Samples

if TYPE_CHECKING:
    from hideseek.chance import Randomness
    from hideseek.records.encoder import Encoder
    from hideseek.records.task import Task


@dataclass(frozen=True)
class Contents:
    """What a release holds, in counts: what an attacker is said to have known."""

    item: str
    """What one item is called: encoding, update."""
    items: int
    labelled: bool = False
    public: int = 0
    own: int = 0
    larger: bool = False
    """Whether the public images are larger ones, of which patches were mixed in, and not the very ones."""
    model: str = ""
    """The model that updates are of, with its weights; empty: there is none."""


@dataclass(frozen=True)
class Release(ABC):
    """What an attacker sees. What he also has is a field of it, never a flag of the attack."""

    withheld: ClassVar[tuple[str, ...]] = ("candidates",)
    """Fields that are None unless the attacker is a stronger one, who is given them by `Secret.reveal`."""

    own: Samples | None = field(default=None, kw_only=True)
    """The attacker's own images, like the private ones, to try things on."""
    candidates: Samples | None = field(default=None, kw_only=True)
    """A gallery: the private images among as many others of their kind, in an order that tells nothing."""
    seed: int | None = field(default=None, kw_only=True)
    """Set: made for a reproducible study, its keys are anyone's to draw again."""

    @property
    def reproducible(self) -> bool:
        """Tell whether the keys came from a seed; such a release protects nothing."""
        return self.seed is not None

    @property
    @abstractmethod
    def encoder(self) -> Encoder:
        """Give the encoder that made it, with all filled in that was estimated: its parameters are public."""

    @abstractmethod
    def size(self) -> Task:
        """Count what is there."""

    @abstractmethod
    def contents(self) -> Contents:
        """Say what it holds."""

    @abstractmethod
    def as_noise(self, chance: Randomness) -> Self:
        """Give the same release with noise of the same scale in place of what was shared."""

    def picture(self, item: int) -> Float[Tensor, "c h w"] | None:
        """Give what an item looks like; None where it is no picture."""
        return None

    @property
    def shows_private(self) -> bool:
        """Tell whether the picture of an item shows private images to the eye."""
        return True
