"""Encoded images: the release of every scheme that mixes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

from jaxtyping import Float, Int
from torch import Tensor

from hideseek.records.release import Contents, Release
from hideseek.records.samples import Samples

if TYPE_CHECKING:
    from hideseek.chance import Randomness
    from hideseek.records.mixing_encoder import MixingEncoder
    from hideseek.records.task import Task


@dataclass(frozen=True)
class EncodedRelease(Release):
    """Encoded images with their mixed labels, and all that is public about them.

    An item is a row: one encoding. Where every image was encoded several times, the rounds follow each other, each in
    an order of its own: n rows of the first, n of the second. `made_for`, `sources` and `weights` are for studies of an
    attacker who knows more.
    """

    withheld: ClassVar[tuple[str, ...]] = (*Release.withheld, "made_for", "sources", "weights")

    encoded: Samples
    scheme: MixingEncoder  # Kerckhoffs: parameters are public, keys are not
    public: Samples | None = None  # the public images that were mixed in, or larger ones that they were cut from
    rounds: int = 1  # how often every image was encoded
    weights: Float[Tensor, "n k"] | None = None  # λ, those of the private images first
    sources: Int[Tensor, "n k_private"] | None = None  # the places in the private set of a row's images
    made_for: Int[Tensor, " n"] | None = None  # the place of the image that a row was made for

    @property
    def mixed_labels(self) -> Float[Tensor, "n classes"]:
        """Give the labels as far as they show what is mixed: n × 0 where they are noisy, or one class was drawn."""
        labels = self.encoded.labels
        return labels[:, :0] if self.scheme.label_kind in ("drawn", "noisy") else labels

    @property
    def encoder(self) -> MixingEncoder:
        """Give the scheme."""
        return self.scheme

    def size(self) -> Task:
        """Count rows, images and pixels."""
        planned = self.scheme.planned_size(self.encoded, self.public, self.own)
        return replace(planned, images=planned.items // self.rounds)

    def contents(self) -> Contents:
        """Say how many encodings there are, and what is beside them."""
        labelled = self.encoded.labels.shape[1] > 0
        public, own = (0 if each is None else len(each) for each in (self.public, self.own))
        larger = self.public is not None and self.public.shape != self.encoded.shape
        return Contents("encoding", len(self.encoded), labelled, public, own, larger)

    def as_noise(self, chance: Randomness) -> Self:
        """Give the same release with Gaussian noise, of the same mean and deviation, in place of the encodings."""
        pixels = self.encoded.pixels()
        noise = chance.normals(*pixels.shape).mul_(float(pixels.std())).add_(float(pixels.mean()))
        return replace(self, encoded=replace(self.encoded, images=noise))

    def picture(self, item: int) -> Float[Tensor, "c h w"]:
        """Give a row."""
        return self.encoded.pixels(slice(item, item + 1))[0]

    @property
    def shows_private(self) -> bool:
        """Tell that a row without a mask shows the images in it."""
        return not self.scheme.masked
