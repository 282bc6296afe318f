"""An encoder around another: what it does not change is what that one says."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hideseek.chance import Randomness
from hideseek.hide.encoders.base import RecipeEncoder
from hideseek.records import Bound, Effective, Encoder, ImagesPerRow, Movement, Release, RowNoise, Samples
from hideseek.records.secret import Secret


class Wrapping(RecipeEncoder):
    """Hides as `scheme` does, but for what a subclass changes."""

    scheme: RecipeEncoder

    @property
    def masked(self) -> bool:
        """Tell whether signs are flipped at random."""
        return self.scheme.masked

    @property
    def images_per_row(self) -> ImagesPerRow:
        """Tell how many private and how many public images are mixed into a row."""
        return self.scheme.images_per_row

    @property
    def linear(self) -> bool:
        """Tell whether rows are weighted sums of the images, plus noise."""
        return self.scheme.linear

    @property
    def moves(self) -> bool:
        """Tell whether images are moved before they are mixed."""
        return self.scheme.moves

    @property
    def movement(self) -> Movement:
        """Tell how far images are moved."""
        return self.scheme.movement

    def noise(self, pixels: int) -> RowNoise | None:
        """Tell how much noise a row has."""
        return self.scheme.noise(pixels)

    def for_rounds(self, rounds: int) -> "Wrapping":
        """Give it around the scheme for so many rounds."""
        changed: Any = {"scheme": self.scheme.for_rounds(rounds)}
        return replace(self, **changed)  # type: ignore[type-var] # every one of them is a dataclass

    def check_given_away(self, given: tuple[str, ...]) -> None:
        """Refuse what the scheme refuses."""
        self.scheme.check_given_away(given)

    @property
    def movable(self) -> bool:
        """Tell what the scheme says."""
        return self.scheme.movable

    @property
    def weak_kind(self) -> str:
        """Name the weak cases."""
        return self.scheme.weak_kind

    def weak_cases(self, images: Samples, chance: Randomness) -> Iterator[Encoder]:
        """Give the weak cases."""
        return self.scheme.weak_cases(images, chance)

    def effective(self, release: Release, secret: Secret, chance: Randomness) -> tuple[Effective, ...]:
        """Measure what the parameters come to."""
        return self.scheme.effective(release, secret, chance)

    def bounds(self, effective: tuple[Effective, ...]) -> tuple[Bound, ...]:
        """Say what is proved: neither moving nor what is done afterwards without the images takes it back."""
        return self.scheme.bounds(effective)
