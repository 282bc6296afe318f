"""What leaves the house: everything in a Release is in the attacker's hands."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxtyping import Float, Int
from torch import Tensor

from hideseek.records.samples import Samples

if TYPE_CHECKING:
    from hideseek.records.encoder import Encoder


@dataclass(frozen=True)
class Release(ABC):  # noqa: B024 (a kind of thing, told apart by its subclasses)
    """What an attacker sees. What he also has is a field of it, never a flag of the attack."""


@dataclass(frozen=True)
class EncodedRelease(Release):
    """Encoded images with their mixed labels, and all that is public about them.

    Where every image was encoded several times, the rounds follow each other, each in an order of its own: n rows of
    the first, n of the second. `weights`, `sources` and `own` are for studies of an attacker who knows more.
    """

    encoded: Samples
    scheme: Encoder  # Kerckhoffs: parameters are public, keys are not
    public: Samples | None = None  # the public images that were mixed in
    rounds: int = 1  # how often every image was encoded
    weights: Float[Tensor, "n k"] | None = None  # λ, those of the private images first
    sources: Int[Tensor, "n known"] | None = None  # the places in the private set of a row's images, or the first few
    own: Samples | None = None  # the attacker's own images, like the private ones, to try things on
    seed: int | None = None  # set: made for a reproducible study, its keys are anyone's to draw again

    @property
    def reproducible(self) -> bool:
        """Tell whether the keys came from a seed; such a release protects nothing."""
        return self.seed is not None
