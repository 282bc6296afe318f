"""The recipe of a whole release: the checks that all schemes share, then one round after another."""

from typing import TYPE_CHECKING

import numpy as np

from hideseek.chance import Randomness
from hideseek.data.store import allocate
from hideseek.errors import BadInput
from hideseek.files import need_memory
from hideseek.hide.mixing.recipe import Recipe, one_after_another
from hideseek.records import Samples
from hideseek.records.samples import describe_shape

if TYPE_CHECKING:
    from hideseek.hide.encoders.base import RecipeEncoder


def checked_recipe(
    encoder: "RecipeEncoder", private: Samples, public: Samples | None, chance: Randomness, rounds: int = 1
) -> Recipe:
    """Write the recipe of all rounds, each round's rows in a fresh random order."""
    if len(private) < 2:
        raise BadInput(f"hiding needs at least two images to mix, and there are {len(private)}: add images.")
    check_shapes(private, public, "public")
    if rounds < 1:
        raise BadInput(f"every image is encoded in one round or more, not in {rounds}.")
    rows = len(private) * rounds
    keys = 2 * rows * (12 * sum(encoder.images_per_row) + 8)  # sources, weights and order, once more when rounds join
    need_memory(keys, f"drawing who is mixed with whom in {rows:,} rows", "hide fewer images, or in fewer rounds")
    written: list[Recipe] = []
    encoder = encoder.for_rounds(rounds)
    for _ in range(rounds):
        scheme = written[0].scheme if written else encoder  # what it estimated once, it need not estimate again
        recipe = scheme.recipe(private, public, chance)
        order = allocate((len(recipe),), np.int64)
        written.append(recipe.rows(chance.permutation(len(recipe), order)))
    return one_after_another(written)


def check_shapes(images: Samples, others: Samples | None, kind: str) -> None:
    """Refuse to mix images of different sizes."""
    if others is not None and others.shape != images.shape:
        patches = ", or cut patches of that size from the public ones" if kind == "public" else ""
        given, wanted = describe_shape(others.shape), describe_shape(images.shape)
        raise BadInput(
            f"{kind} images of {given} cannot be mixed with private ones of {wanted}: load both with one size and the"
            f" same channels{patches}."
        )
