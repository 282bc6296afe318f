"""Any scheme, with its images moved before they are mixed."""

from dataclasses import dataclass, field, replace

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.hide.encoders.base import RecipeEncoder
from hideseek.hide.encoders.instahide import InstaHide
from hideseek.hide.mixing.geometry import Geometry
from hideseek.hide.mixing.recipe import Recipe
from hideseek.records import ImagesPerRow, Samples


@dataclass(frozen=True)
class Augmented(RecipeEncoder):
    """Move every image at random each time it is used, then mix as `scheme` says (Luo et al. 2022).

    It breaks the linear system that ties the mixtures of one image together; attacks that compare and fuse still work.
    """

    scheme: MixingEncoder = field(default_factory=InstaHide)
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

    def recipe(self, private: Samples, public: Samples | None, chance: Randomness) -> Recipe:
        """Write the scheme's recipe, with moved images."""
        recipe = self.scheme.recipe(private, public, chance)
        assert isinstance(recipe.scheme, MixingEncoder)  # noqa: S101 (a scheme fills in itself)
        return replace(recipe, scheme=replace(self, scheme=recipe.scheme), geometry=self.geometry)
