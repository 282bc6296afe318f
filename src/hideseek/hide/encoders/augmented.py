"""Any scheme, with its images moved before they are mixed."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.hide.encoders.base import RecipeEncoder
from hideseek.hide.encoders.instahide import InstaHide
from hideseek.hide.encoders.wrapping import Wrapping
from hideseek.hide.mixing.geometry import Geometry
from hideseek.hide.mixing.recipe import Recipe
from hideseek.records import Change, ChangeKind, Encoder, Known, Movement, Samples

LITTLE = Geometry(shift=1 / 16, flip=True)  # as images are moved in weak cases


@dataclass(frozen=True)
class Augmented(Wrapping, mechanism="augmented"):
    """Move every image at random each time it is used, then mix as `scheme` says (Luo et al. 2022).

    x̃_i = Σ_j λ_ij T_ij x_{π_j(i)}, each T drawn anew; under a mask if `scheme` has one. It breaks the linear system
    that ties the mixtures of one image together; attacks that compare and fuse still work.
    """

    source: ClassVar = "Luo et al. 2022, whose attack it is made against"

    scheme: RecipeEncoder = field(default_factory=InstaHide)
    """Which mixes the images that were moved."""
    geometry: Geometry = field(default_factory=lambda: Geometry(shift=0.1, crop=0.8, rotation=15, flip=True))
    """How far they are moved."""

    def __post_init__(self) -> None:
        if isinstance(self.scheme, Augmented):
            raise BadInput("images are moved once before they are mixed: put both movements into one geometry.")
        if not self.scheme.movable:
            raise BadInput("images that are moved may be longer than the proof of this scheme allows: move none.")

    @property
    def linear(self) -> bool:
        """Tell that moved images are not the images."""
        return False

    @property
    def moves(self) -> bool:
        """Tell that images are moved."""
        return True

    @property
    def movement(self) -> Movement:
        """Tell how far: a smaller window may lie anywhere in the picture."""
        return Movement(self.geometry.shift + (1 - self.geometry.crop) / 2, self.geometry.flip)

    def recipe(self, private: Samples, public: Samples | None, chance: Randomness) -> Recipe:
        """Write the scheme's recipe, with moved images."""
        recipe = self.scheme.recipe(private, public, chance)
        return replace(recipe, scheme=replace(self, scheme=recipe.scheme), geometry=self.geometry)

    @property
    def weak_kind(self) -> str:
        """Name the weak cases of the scheme, moved."""
        return f"{self.scheme.weak_kind}-moved"

    def weak_cases(self, images: Samples, chance: Randomness) -> Iterator[Encoder]:
        """Give those of the scheme: an attack that finds images must find those that do not move; then, moved ones."""
        weak = list(self.scheme.weak_cases(images, chance))
        yield from weak
        for each in weak:
            if isinstance(each, RecipeEncoder) and not isinstance(each, Augmented):
                yield Augmented(each, LITTLE)

    def published(self, rounds: int) -> Iterator[Known]:
        """Say what is known of the scheme, and of moving."""
        yield from self.scheme.published(rounds)
        yield Known(
            "Moving images before mixing breaks the linear system, not attacks that compare and fuse.",
            "Luo et al.: Fusion-denoising attack on InstaHide with data augmentation, AAAI 2022",
        )

    def stronger_settings(self) -> Iterator[tuple[Change, RecipeEncoder]]:
        """Give those of the scheme, moved likewise where it is the same scheme."""
        for change, stronger in self.scheme.stronger_settings():
            if change.kind is not ChangeKind.COARSER:  # which is done after moving, and helps against bytes
                yield change, stronger if change.scheme else replace(self, scheme=stronger)
