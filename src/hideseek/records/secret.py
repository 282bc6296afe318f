"""What must not leave the house. `seek` and `learn` may not import this file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from jaxtyping import Float, Int
from torch import Tensor

from hideseek.records.release import Release
from hideseek.records.samples import Samples

if TYPE_CHECKING:
    R = TypeVar("R", bound=Release)


@dataclass(frozen=True)
class Secret(ABC):
    """The ground truth behind a release, for those who may judge an attack by it."""

    private: Samples
    others: Samples | None = field(default=None, kw_only=True)
    """Images of the same kind that are not in the release; with the private ones they make a gallery of candidates."""

    @property
    @abstractmethod
    def items(self) -> int:
        """Count the items of the release: rows, updates."""

    @abstractmethod
    def holds(self, items: Int[Tensor, " n"]) -> Int[Tensor, "n k"]:
        """Give the private images that are in each item, by their places, the one that it was made for first.

        −1 fills the rows of items that hold fewer than others.
        """

    @abstractmethod
    def shares(self, items: Int[Tensor, " n"]) -> Float[Tensor, "n k"]:
        """Give how much of each of these images is in the item; 0 where `holds` has −1."""

    @property
    def masked(self) -> bool:
        """Tell whether signs are hidden, so that only absolute values can be compared."""
        return False

    @abstractmethod
    def reveal(self, release: R, fields: Collection[str]) -> R:
        """Give the release with these of its withheld fields filled in: what a stronger attacker knows."""
