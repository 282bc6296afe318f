"""What leaves the house: everything in a Release is in the attacker's hands."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxtyping import Float
from torch import Tensor

from hideseek.records.samples import Samples

if TYPE_CHECKING:
    from hideseek.records.encoder import Encoder


@dataclass(frozen=True)
class Release(ABC):  # noqa: B024 (a kind of thing, told apart by its subclasses)
    """What an attacker sees. What he also has is a field of it, never a flag of the attack."""


@dataclass(frozen=True)
class EncodedRelease(Release):
    """Encoded images with their mixed labels, and all that is public about them."""

    encoded: Samples
    scheme: Encoder  # Kerckhoffs: parameters are public, keys are not
    public: Samples | None = None  # the public images that were mixed in
    weights: Float[Tensor, "n k"] | None = None  # for studies of an attacker who knows them
    seed: int | None = None  # set: made for a reproducible study, its keys are anyone's to draw again

    @property
    def reproducible(self) -> bool:
        """Tell whether the keys came from a seed; such a release protects nothing."""
        return self.seed is not None
