"""The schemes that mix: each writes a recipe, and all recipes are followed alike."""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from hideseek.chance import Randomness
from hideseek.files import need_memory
from hideseek.hide.files.release_files import read_release, release_digest, with_public, write_release
from hideseek.hide.files.secret_files import read_secret
from hideseek.hide.mixing.blend import blender
from hideseek.hide.mixing.buffers import Buffer, checked
from hideseek.hide.mixing.checked_recipe import checked_recipe
from hideseek.hide.mixing.follow import follow
from hideseek.hide.mixing.queries import query_encoder
from hideseek.hide.mixing.recipe import Recipe
from hideseek.records import (
    Change,
    ChangeKind,
    Effective,
    EncodedRelease,
    Encoder,
    Known,
    MixingEncoder,
    Queries,
    Release,
    RowNoise,
    Samples,
    Task,
)
from hideseek.records.mixing_secret import MixingSecret
from hideseek.records.secret import Secret
from hideseek.records.task import release_bytes

LABELS: Final = Known(
    "Mixed labels show the classes in a row and, wherever these differ, the weights.", "hideseek, docs/threat-model.md"
)
QUERIES: Final = Known(
    "Hidden inference mixes training images into every query: the server that answers tells them from other candidate"
    " images, under a mask too, and recovers them where there is neither mask nor noise. Take public images as partners"
    " of queries.",
    "measured: studies/queries.py, studies/results/queries-cpu.md",
)
DECODED = 3  # private images of a row, at most, that byte-decoding gets back
DECODING = "hideseek, byte-decoding; measured: studies/breaking_instahide.py"
BYTES = "measured: benchmarks/byte_solutions.py, benchmarks/results/byte_solutions.json"


class RecipeEncoder(MixingEncoder):
    """An encoder that mixes images.

    A mechanism says how many images are in a row, writes the recipe and names its weak cases; the rest is done here,
    unless the mechanism has more to say.
    """

    @property
    def masked(self) -> bool:
        """Tell whether signs are flipped at random."""
        return False

    @property
    def linear(self) -> bool:
        """Tell whether rows are weighted sums of the images, plus noise."""
        return not self.masked

    def noise(self, pixels: int) -> RowNoise | None:
        """Tell that there is no noise."""
        return None

    @property
    def movable(self) -> bool:
        """Tell whether images may be moved before they are mixed."""
        return True

    @property
    def public_range(self) -> float | None:
        """Give the largest number that a row may have before noise, where that is public; else it is measured."""
        return None

    def for_rounds(self, rounds: int) -> "RecipeEncoder":
        """Give the encoder for a release of so many rounds; most are the same for all."""
        return self

    def check_given_away(self, given: tuple[str, ...]) -> None:
        """Refuse to give away what the scheme counts on; most count on nothing that studies may not give away."""
        return

    @abstractmethod
    def recipe(self, private: Samples, public: Samples | None, chance: Randomness) -> Recipe:
        """Draw which images are mixed into each row, and with what weights; row i is made for image i."""

    def hide(
        self,
        private: Samples,
        public: Samples | None,
        chance: Randomness,
        rounds: int = 1,
        out: Buffer | None = None,
    ) -> tuple[EncodedRelease, MixingSecret]:
        """Encode every private image once a round, under fresh keys, in a fresh random order; into `out` if given."""
        if out is None:
            size = release_bytes(len(private), rounds, private.shape, private.labels.shape[1])
            need_memory(size, "the release", "hide fewer images, or in fewer rounds, or write it to a folder")
        recipe = checked_recipe(self, private, public, chance, rounds)
        rows = None if out is None else checked(out, (len(recipe), *private.shape), private, public)
        batch = follow(recipe, private, public, chance, rows)
        used = public if self.mixes_public else None
        release = EncodedRelease(batch.encoded, recipe.scheme, used, rounds, seed=chance.seed)
        truth = (recipe.sources, recipe.public_sources, recipe.weights, batch.mask, batch.transforms)
        return release, MixingSecret(private, *truth, used.cut_from.places if used and used.cut_from else None)

    def with_estimates(self, private: Samples, public: Samples | None, chance: Randomness) -> "RecipeEncoder":
        """Give the encoder with all filled in that it estimates from the private images."""
        return checked_recipe(self, private, public, chance).scheme

    def write(
        self,
        private: Samples,
        public: Samples | None,
        chance: Randomness,
        folder: Path,
        secret: Path,
        rounds: int = 1,
    ) -> None:
        """Hide into a folder, and keep the ground truth in a file."""
        write_release(self, private, public, chance, folder, secret, rounds)

    def read(self, folder: Path, secret: Path, public: Samples | None) -> tuple[EncodedRelease, MixingSecret]:
        """Read what was written, after checking it."""
        release = read_release(folder)
        if public is not None:
            release = with_public(release, folder, public)
        return release, read_secret(secret, release_digest(folder))

    def planned_size(
        self, private: Samples, public: Samples | None = None, own: Samples | None = None, rounds: int = 1
    ) -> Task:
        """Tell how large the release of some images will be."""
        per_row = self.images_per_row
        used = public if per_row.public else None
        larger = used is not None and used.shape != private.shape
        return Task(
            items=len(private) * rounds,
            images=len(private),
            pixels=math.prod(private.shape),
            public=0 if used is None else len(used),
            public_pixels=math.prod(used.shape) if used is not None and larger else 0,
            own=0 if own is None else len(own),
            images_per_item=sum(per_row),
            masked=self.masked,
            channels=private.shape[0],
        )

    def known(self, rounds: int, *, labelled: bool, of_bytes: bool) -> tuple[Known, ...]:
        """Say what is published of the mechanism in this configuration, and what queries, labels and bytes show."""
        known = [*self.published(rounds)]
        if self.images_per_row.private > 1:
            known.append(QUERIES)
        if labelled and sum(self.images_per_row) > 1:
            known.append(LABELS)
            if of_bytes and self.exact:
                known.append(self._bytes())
        return tuple(known)

    def _bytes(self) -> Known:
        """Say what exact sums of bytes with known weights give away."""
        mask = ", under a mask too" if self.masked else ""
        private, public = self.images_per_row
        if private + public <= DECODED and not public:
            shown = f"a pixel of one row has one solution or two{mask}: one row gives all its images away"
            return Known(f"Images are bytes, rows are exact to 32 bits and labels show the weights: {shown}.", DECODING)
        shown = f"where all but two images of a row are known, a pixel has about one solution{mask}"
        return Known(f"Images are bytes, rows are exact to 32 bits and labels show the weights: {shown}.", BYTES)

    def published(self, rounds: int) -> Iterator[Known]:
        """Give what is published of the mechanism in this configuration."""
        yield from ()

    def stronger(self, rounds: int) -> Iterator[tuple[Change, Encoder, int]]:
        """Give fewer rounds, and what the mechanism has beside: more noise, or another scheme."""
        if rounds > 1:
            yield Change(ChangeKind.FEWER_ROUNDS, "rounds", rounds, 1), self, 1
        for change, scheme in self.stronger_settings():
            yield change, scheme, rounds

    def stronger_settings(self) -> Iterator[tuple[Change, "RecipeEncoder"]]:
        """Give what hides more at the same number of rounds."""
        yield from ()

    def effective(self, release: Release, secret: Secret, chance: Randomness) -> tuple[Effective, ...]:
        """Measure how many equally weighted images a row amounts to."""
        assert isinstance(secret, MixingSecret)  # noqa: S101 (the secret of a release of this scheme)
        together = sum(self.images_per_row)
        if together < 2:
            return ()
        each = float((1 / secret.weights.double().square().sum(1)).mean())
        meaning = "how many equally weighted images a row amounts to, 1 / Σλ²"
        return (Effective("k", float(together), each, meaning),)

    def encodings(self, private: Samples, public: Samples | None, chance: Randomness, rows: int) -> Iterator[Samples]:
        """Encode every private image once, in a fresh random order, `rows` at a time, and forget how."""
        recipe = checked_recipe(self, private, public, chance)
        blend = blender(private, public, moves=recipe.geometry is not None)
        for start in range(0, len(recipe), rows):
            part = recipe.rows(slice(start, start + rows))
            yield follow(part, private, public, chance, blend=blend).encoded

    def queries(self, pool: Samples | None, public: Samples | None, chance: Randomness) -> Callable[[Samples], Queries]:
        """Give the function that encodes queries, with partners from the pool and the public images."""
        return query_encoder(self, pool, public, chance)
