"""Any scheme, with its rows and labels shared less exactly than they are computed."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.hide.encoders.base import RecipeEncoder
from hideseek.hide.encoders.wrapping import Wrapping
from hideseek.hide.mixing.precision import GRID, MOST_STEPS, Precision
from hideseek.hide.mixing.recipe import Recipe
from hideseek.records import Change, ChangeKind, Known, LabelKind, RowNoise, RowType, Samples, SharedLabels, Spent

CHUNK = 1024  # images whose pixels are looked at together
LEAST = 1e-12  # that the largest pixel counts for: images may be all zero
DEVIATIONS = 6.0  # of noise that int8 rows have room for
COARSEST: Final[tuple[LabelKind, RowType]] = ("drawn", "int8")
COST = (
    "drawn labels cost one to four points of accuracy on CIFAR-10, and rows in 8 bits nothing that was seen"
    " (studies/breaking_instahide.py)"
)
STUDY = "hideseek, byte-decoding; measured: studies/breaking_instahide.py"


@dataclass(frozen=True)
class Coarse(Wrapping, mechanism="coarse"):
    """Hide as `scheme` does, and round what is shared: x̃ to float16 or int8 with dither, ỹ to a decimal or a class.

    Rows in int8 are s ⌊x̃ / s + u⌋ with u ~ U[0, 1). Exact numbers tell more than images: bytes can be decoded from the
    last bits of rows, and weights read from labels. The step s is public; it is estimated from the largest pixel unless
    it is given, and has room for six deviations of the scheme's noise.
    """

    source: ClassVar = "ours"

    scheme: RecipeEncoder
    """Whose rows and labels are rounded."""
    labels: LabelKind = "exact"
    """As they were mixed; rounded to a decimal; or one class, drawn by the weights."""
    rows: RowType = "float32"
    """As they were computed; float16; or int8."""
    step: float | None = None
    """The unit of int8 rows; None: from the images."""

    def __post_init__(self) -> None:
        if isinstance(self.scheme, Coarse):
            raise BadInput("rows and labels are rounded once: put both into one setting.")
        if self.scheme.label_kind == "noisy" and self.labels != "exact":
            raise BadInput("labels that have noise are shared as they are: leave out how labels are shared.")
        Precision.of(self)  # refuses a step that cannot be

    def spends(self, images: int, rounds: int) -> Spent:
        """Tell what the scheme spends, where nothing is done but to round what it would have shared.

        Drawn and rounded labels, and the unit of int8, may come from the images themselves: nothing is proved of them.
        """
        plain = self.labels == "exact" and self.rows != "int8"
        return self.scheme.spends(images, rounds) if plain else Spent()

    @property
    def row_type(self) -> RowType:
        """Tell how exact rows are."""
        return self.rows

    @property
    def row_step(self) -> float | None:
        """Give the unit of rows in int8."""
        return self.step

    @property
    def label_kind(self) -> SharedLabels:
        """Tell how exact labels are."""
        return "noisy" if self.scheme.label_kind == "noisy" else self.labels

    @property
    def exact(self) -> bool:
        """Tell what the scheme says; rows in int8 are no sums any more."""
        return self.scheme.exact and self.rows != "int8"

    def noise(self, pixels: int) -> RowNoise | None:
        """Tell what the scheme says; where it has no noise, dither is one, of s²/6 on average."""
        noise = self.scheme.noise(pixels)
        return RowNoise(self.step**2 / 6) if noise is None and self.step is not None and self.rows == "int8" else noise

    def recipe(self, private: Samples, public: Samples | None, chance: Randomness) -> Recipe:
        """Write the scheme's recipe, with rounded rows and labels, and fill in the step."""
        recipe = self.scheme.recipe(private, public, chance)
        filled = replace(self, scheme=recipe.scheme)
        if self.rows == "int8" and self.step is None:
            noise = recipe.scheme.noise(math.prod(private.shape))
            room = DEVIATIONS * math.sqrt(noise.variance) if noise is not None else 0.0
            largest = recipe.scheme.public_range
            if largest is None:
                largest = max(largest_pixel(private), largest_pixel(public if self.mixes_public else None))
            filled = replace(filled, step=max(largest + room, LEAST) / MOST_STEPS)
        return replace(recipe, scheme=filled, precision=Precision.of(filled))

    def known(self, rounds: int, *, labelled: bool, of_bytes: bool) -> tuple[Known, ...]:
        """Say what is known of the scheme, less what only exact numbers show, and what rounding leaves."""
        exact = self.labels == "exact" and self.rows == "float32"
        known = [*self.scheme.known(rounds, labelled=labelled and self.labels != "drawn", of_bytes=of_bytes and exact)]
        if labelled and self.labels == "drawn":
            known.append(
                Known("Drawn labels show one class of a row, and no weight.", "hideseek, docs/threat-model.md")
            )
        if labelled and self.labels == "rounded":
            known.append(
                Known(f"Rounded labels show classes, and weights to 1/{2 * GRID}.", "hideseek, docs/threat-model.md")
            )
        if of_bytes and self.exact and sum(self.images_per_row) == 2:
            left = "68 % of images, or 41 % under a mask" if self.rows == "float16" else "all images"
            known.append(
                Known(
                    f"Images are bytes, and the row itself tells the weights of two images: at k = 2 decoding still"
                    f" gives {left}.",
                    STUDY,
                )
            )
        return tuple(known)

    def stronger_settings(self) -> Iterator[tuple[Change, RecipeEncoder]]:
        """Give those of the scheme, rounded likewise where it is the same scheme."""
        for change, stronger in self.scheme.stronger_settings():
            if change.kind is not ChangeKind.COARSER:
                yield change, stronger if change.scheme else replace(self, scheme=stronger)
            elif (self.labels, self.rows) != COARSEST:
                yield change, stronger


def coarser(scheme: RecipeEncoder) -> Iterator[tuple[Change, RecipeEncoder]]:
    """Advise rows and labels that show nothing but mixtures."""
    yield Change(ChangeKind.COARSER, "bits", 32, 8, cost=COST), Coarse(scheme, *COARSEST)


def largest_pixel(samples: Samples | None) -> float:
    """Give the largest absolute value of a pixel."""
    if samples is None:
        return 0.0
    chunks = (samples.pixels(slice(i, i + CHUNK)) for i in range(0, len(samples), CHUNK))
    return max(float(pixels.abs().max()) for pixels in chunks)
