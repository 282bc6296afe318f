"""Any scheme, with its images moved before they are mixed."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.hide.encoders.base import RecipeEncoder
from hideseek.hide.encoders.instahide import InstaHide
from hideseek.hide.mixing.geometry import Geometry
from hideseek.hide.mixing.recipe import Recipe
from hideseek.records import Bound, Change, Effective, Encoder, ImagesPerRow, Known, Release, RowNoise, Samples
from hideseek.records.secret import Secret


@dataclass(frozen=True)
class Augmented(RecipeEncoder, mechanism="augmented"):
    """Move every image at random each time it is used, then mix as `scheme` says (Luo et al. 2022).

    It breaks the linear system that ties the mixtures of one image together; attacks that compare and fuse still work.
    """

    scheme: RecipeEncoder = field(default_factory=InstaHide)
    geometry: Geometry = field(default_factory=lambda: Geometry(shift=0.1, crop=0.8, rotation=15, flip=True))

    def __post_init__(self) -> None:
        if isinstance(self.scheme, Augmented):
            raise BadInput("images are moved once before they are mixed: put both movements into one geometry.")

    @property
    def masked(self) -> bool:
        """Tell what the scheme says."""
        return self.scheme.masked

    @property
    def images_per_row(self) -> ImagesPerRow:
        """Tell what the scheme says."""
        return self.scheme.images_per_row

    @property
    def linear(self) -> bool:
        """Tell that moved images are not the images."""
        return False

    @property
    def moves(self) -> bool:
        """Tell that images are moved."""
        return True

    def noise(self, pixels: int) -> RowNoise | None:
        """Tell what the scheme says."""
        return self.scheme.noise(pixels)

    def recipe(self, private: Samples, public: Samples | None, chance: Randomness) -> Recipe:
        """Write the scheme's recipe, with moved images."""
        recipe = self.scheme.recipe(private, public, chance)
        return replace(recipe, scheme=replace(self, scheme=recipe.scheme), geometry=self.geometry)

    @property
    def weak_kind(self) -> str:
        """Share the weak cases of the scheme."""
        return self.scheme.weak_kind

    def weak_cases(self, images: Samples, chance: Randomness) -> Iterator[Encoder]:
        """Give those of the scheme: an attack that finds images must find those that do not move."""
        return self.scheme.weak_cases(images, chance)

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
            yield change, stronger if change.scheme else replace(self, scheme=stronger)

    def effective(self, release: Release, secret: Secret, chance: Randomness) -> tuple[Effective, ...]:
        """Measure what the scheme's parameters come to."""
        return self.scheme.effective(release, secret, chance)

    def bound(self, effective: tuple[Effective, ...]) -> Bound | None:
        """Say what is proved of the scheme."""
        return self.scheme.bound(effective)
