"""The contract of schemes that mix images into rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from hideseek.records.encoder import Encoder

if TYPE_CHECKING:
    from hideseek.chance import Randomness
    from hideseek.records.encoded_release import EncodedRelease
    from hideseek.records.mixing_secret import MixingSecret
    from hideseek.records.samples import Samples

RowType = Literal["float32", "float16", "int8"]
LabelKind = Literal["exact", "rounded", "drawn"]
SharedLabels = Literal["exact", "rounded", "drawn", "noisy"]


class ImagesPerRow(NamedTuple):
    """How many private and how many public images are mixed into a row."""

    private: int
    public: int


class Queries(NamedTuple):
    """Encodings of images that a model is asked about, one each."""

    images: Float[Tensor, "n c h w"]
    shares: Float[Tensor, " n"]
    """How much of each encoding is the image, its λ: who asks knows it."""


class Movement(NamedTuple):
    """How images are moved before they are mixed: by what share of the side at most, and whether they are mirrored."""

    shift: float = 0.0
    mirror: bool = False


@dataclass(frozen=True)
class RowNoise:
    """The noise of a row: the variance of a pixel, and the column of the weights that multiplies it, if any does."""

    variance: float
    weight: int | None = None
    one_length: bool = False
    """Whether the noise of every row has one length before the weight multiplies it, √(variance · pixels)."""


class MixingEncoder(Encoder):
    """An encoder whose rows are weighted sums of images, perhaps under noise, movements or a mask of signs.

    `encodings` does as `hide` does for those who train on the fly and keep nothing; `queries` encodes what a model is
    asked. The release's `scheme` is the encoder with all that was estimated from the private images filled in, so an
    attacker can make encodings like it.
    """

    @property
    def exact(self) -> bool:
        """Tell whether rows are sums of the images as they are stored, but for signs: not moved, and without noise."""
        return False

    @property
    def row_type(self) -> RowType:
        """Tell how exactly rows are shared."""
        return "float32"

    @property
    def row_step(self) -> float | None:
        """Give the unit of rows in int8."""
        return None

    @property
    def label_kind(self) -> SharedLabels:
        """Tell how labels are shared: as they were mixed, rounded to a decimal, drawn (one class, by weight), or noisy.

        Labels under noise may be negative, and need not sum to 1.
        """
        return "exact"

    @property
    @abstractmethod
    def images_per_row(self) -> ImagesPerRow:
        """Tell how many private and how many public images are mixed into a row."""

    @property
    @abstractmethod
    def masked(self) -> bool:
        """Tell whether signs are flipped at random, so that only absolute values are known."""

    @property
    @abstractmethod
    def linear(self) -> bool:
        """Tell whether rows are weighted sums of the images as they are, plus noise: not masked, not moved."""

    @property
    def moves(self) -> bool:
        """Tell whether images are moved before they are mixed, each time anew."""
        return False

    @property
    def movement(self) -> Movement:
        """Tell how far images are moved."""
        return Movement()

    @abstractmethod
    def noise(self, pixels: int) -> RowNoise | None:
        """Tell how much noise a row of so many pixels has; None where there is none, or it is not yet estimated."""

    @property
    def mixes_public(self) -> bool:
        """Tell whether public images are mixed in."""
        return self.images_per_row.public > 0

    @abstractmethod
    def hide(
        self,
        private: Samples,
        public: Samples | None,
        chance: Randomness,
        rounds: int = 1,
        out: Tensor | NDArray[np.float32] | None = None,
    ) -> tuple[EncodedRelease, MixingSecret]:
        """Encode every private image once a round, in a fresh random order.

        The rows are written into `out` where it is given, float32 of m×c×h×w, and are the same bytes; who hides into
        one buffer again and again pays for its pages once, and overwrites the release before.
        """

    @abstractmethod
    def with_estimates(self, private: Samples, public: Samples | None, chance: Randomness) -> MixingEncoder:
        """Give the encoder with all filled in that it estimates from the private images."""

    def for_rounds(self, rounds: int) -> MixingEncoder:
        """Give the encoder for a release of so many rounds, where what it adds depends on how many there are."""
        return self

    @abstractmethod
    def encodings(self, private: Samples, public: Samples | None, chance: Randomness, rows: int) -> Iterator[Samples]:
        """Encode every private image once, in a fresh random order, `rows` at a time, and forget how."""

    @abstractmethod
    def queries(self, pool: Samples | None, public: Samples | None, chance: Randomness) -> Callable[[Samples], Queries]:
        """Give the function that encodes images to be asked about: each once, in their order, under fresh keys.

        Partners come from the pool and from the public images; without a pool, the images are each other's partners.
        """
