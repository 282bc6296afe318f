"""What must not leave the house. `seek` and `learn` may not import this file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.records.evidence import Evidence
from hideseek.records.gallery import anonymous, by_content, identities, joined, mirrored
from hideseek.records.release import Release
from hideseek.records.samples import Samples

if TYPE_CHECKING:
    R = TypeVar("R", bound=Release)


@dataclass(frozen=True)
class Secret(ABC):
    """The ground truth behind a release, for those who may judge an attack by it."""

    private: Samples
    others: Samples | None = field(default=None, kw_only=True)
    """Images of the same kind that are not in the release; None: the private ones, mirrored."""

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

    @property
    def judged(self) -> bool:
        """Tell whether there is anything to judge attacks by."""
        return True

    def judgeable(self, evidence: Evidence) -> Evidence:
        """Give what can be judged of what an attack claims."""
        return evidence

    @property
    def traced(self) -> bool:
        """Tell whether it is known which private images are in which item."""
        return True

    @property
    def flips(self) -> bool:
        """Tell whether images were mirrored, left and right, before they were shared."""
        return False

    @property
    def moves(self) -> bool:
        """Tell whether images were moved before they were shared."""
        return False

    def moved(self, images: Int[Tensor, " n"], items: Int[Tensor, " n"]) -> Float[Tensor, "n c h w"]:
        """Give private images as they are in these items, which hold them."""
        return self.private.pixels(images)

    @cached_property
    def non_members(self) -> Samples:
        """Give the images of a gallery that are not private."""
        return mirrored(self.private, upside_down=self.flips) if self.others is None else self.others

    @cached_property
    def candidates(self) -> Samples:
        """Give the gallery, private images and others, in an order that tells nothing."""
        return anonymous(by_content(joined(self.private, self.non_members)))

    @cached_property
    def identities(self) -> Int[Tensor, " gallery"]:
        """Say which image each candidate is: a place in the private set; or a negative number, which no private has."""
        return identities(self.private, self.non_members)

    @cached_property
    def owners(self) -> Int[Tensor, " gallery"] | None:
        """Say whose image each candidate is, by the numbers of patients; None: no patients are known."""
        both = joined(self.private, self.non_members).patients
        if self.private.patients is None or both is None:
            return None
        places = torch.where(self.identities < 0, len(self.private) - 1 - self.identities, self.identities)
        return both[places]

    def reveal(self, release: R, fields: Collection[str]) -> R:
        """Give the release with these of its withheld fields filled in: what a stronger attacker knows."""
        given: dict[str, Any] = {
            name: self.candidates if name == "candidates" else self.withheld(name) for name in fields
        }
        return replace(release, **given)

    @abstractmethod
    def withheld(self, field: str) -> Any:
        """Give the value of a withheld field that this kind of release has besides the candidates."""
