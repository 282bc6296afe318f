"""The schemes that mix: each writes a recipe, and all are followed alike."""

from abc import abstractmethod

from hideseek.errors import BadInput
from hideseek.hide.follow import follow
from hideseek.hide.recipe import Recipe
from hideseek.randomness import Randomness
from hideseek.records import EncodedRelease, Encoder, Samples
from hideseek.records.secret import MixingSecret


class MixingEncoder(Encoder):
    """An encoder that mixes images; a scheme is what recipe it writes."""

    @abstractmethod
    def recipe(self, private: Samples, public: Samples | None, chance: Randomness) -> Recipe:
        """Draw who meets whom, with what weights and in which order."""

    def hide(self, private: Samples, public: Samples | None, chance: Randomness) -> tuple[EncodedRelease, MixingSecret]:
        """Encode every private image once, under fresh keys, in a fresh random order."""
        recipe = checked_recipe(self, private, public, chance)
        batch = follow(recipe, private, public, chance)
        used = public if recipe.public_sources.shape[1] else None
        release = EncodedRelease(batch.encoded, recipe.scheme, used, seed=chance.seed)
        return release, MixingSecret(
            private, recipe.sources, recipe.public_sources, recipe.weights, batch.mask, batch.transforms
        )


def checked_recipe(encoder: MixingEncoder, private: Samples, public: Samples | None, chance: Randomness) -> Recipe:
    """Write the recipe, after the checks that all schemes share, with its rows in a fresh random order."""
    if len(private) < 2:
        raise BadInput(f"hiding needs at least two images to mix, and there are {len(private)}: add images.")
    if public is not None and public.shape != private.shape:
        raise BadInput(
            f"public images of {_size(public)} cannot be mixed with private ones of {_size(private)}: give both one"
            " --size and --channels, or cut patches with --public patches:ADDRESS."
        )
    recipe = encoder.recipe(private, public, chance)
    return recipe.rows(chance.permutation(len(recipe)))


def _size(samples: Samples) -> str:
    channels, height, width = samples.shape
    return f"{height}×{width} with {channels} channel{'s' if channels > 1 else ''}"
