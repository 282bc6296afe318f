"""The schemes that mix: each writes a recipe, and all are followed alike."""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.hide.mixing.blend import blender
from hideseek.hide.mixing.follow import follow
from hideseek.hide.mixing.recipe import Recipe, one_after_another
from hideseek.records import (
    Change,
    ChangeKind,
    Effective,
    EncodedRelease,
    Encoder,
    Known,
    MixingEncoder,
    Release,
    RowNoise,
    Samples,
    Task,
)
from hideseek.records.mixing_secret import MixingSecret
from hideseek.records.samples import describe_shape
from hideseek.records.secret import Secret

LABELS: Final = Known(
    "Mixed labels show the classes in a row and, wherever these differ, the weights.", "hideseek, docs/threat-model.md"
)


class RecipeEncoder(MixingEncoder):
    """An encoder that mixes images; a scheme is what recipe it writes."""

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

    @abstractmethod
    def recipe(self, private: Samples, public: Samples | None, chance: Randomness) -> Recipe:
        """Draw who is mixed with whom, with what weights and in which order."""

    def hide(
        self, private: Samples, public: Samples | None, chance: Randomness, rounds: int = 1
    ) -> tuple[EncodedRelease, MixingSecret]:
        """Encode every private image once a round, under fresh keys, in a fresh random order."""
        recipe = checked_recipe(self, private, public, chance, rounds)
        batch = follow(recipe, private, public, chance)
        used = public if recipe.public_sources.shape[1] else None
        release = EncodedRelease(batch.encoded, recipe.scheme, used, rounds, seed=chance.seed)
        return release, MixingSecret(
            private, recipe.sources, recipe.public_sources, recipe.weights, batch.mask, batch.transforms
        )

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
        from hideseek.hide.files.release_files import write_release

        write_release(self, private, public, chance, folder, secret, rounds)

    def read(self, folder: Path, secret: Path, public: Samples | None) -> tuple[EncodedRelease, MixingSecret]:
        """Read what was written, after checking it."""
        from hideseek.hide.files.release_files import read_release, release_digest, with_public
        from hideseek.hide.files.secret_files import read_secret

        release = read_release(folder)
        if public is not None:
            release = with_public(release, folder, public)
        return release, read_secret(secret, release_digest(folder))

    def planned_size(
        self, private: Samples, public: Samples | None = None, own: Samples | None = None, rounds: int = 1
    ) -> Task:
        """Tell how large the release of some images will be."""
        per_row = self.images_per_row
        return Task(
            items=len(private) * rounds,
            images=len(private),
            pixels=math.prod(private.shape),
            public=len(public) if public is not None and per_row.public else 0,
            own=0 if own is None else len(own),
            images_per_item=sum(per_row),
            masked=self.masked,
            channels=private.shape[0],
        )

    def known(self, rounds: int, *, labelled: bool) -> tuple[Known, ...]:
        """Say what is published of the mechanism in this configuration, and what labels show."""
        several = sum(self.images_per_row) > 1
        return (*self.published(rounds), *([LABELS] if labelled and several else []))

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
        """Give what hides more at the same number of rounds: here another scheme, Singularized Mixup."""
        from hideseek.hide.encoders.singularized_mixup import STRONG, STRONG_COST

        change = Change(ChangeKind.OTHER_SCHEME, "tau", None, STRONG.tau, "singularized-mixup", STRONG_COST)
        yield change, STRONG

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

    def queries(
        self, pool: Samples | None, public: Samples | None, chance: Randomness
    ) -> Callable[[Samples], Float[Tensor, "n c h w"]]:
        """Give the function that encodes images to be asked about, with partners from the pool and the public images.

        An image takes the place of a member of the pool: it gets the row that the scheme would have made for that one.
        """
        scheme: RecipeEncoder = self
        others = None if pool is None else joined(pool, public)

        def encode(images: Samples) -> Float[Tensor, "n c h w"]:
            nonlocal scheme
            hosts = images if pool is None else pool
            check_shapes(images, hosts, "pool")
            check_shapes(images, public, "public")
            partners = joined(images, public) if others is None else others
            out = torch.empty(len(images), *images.shape, device=images.images.device)
            for start in range(0, len(images), len(hosts)):
                asked = torch.arange(start, min(start + len(hosts), len(images)))
                recipe = scheme.recipe(hosts, public, chance)
                assert isinstance(recipe.scheme, MixingEncoder)  # noqa: S101 (a scheme fills in itself)
                scheme = recipe.scheme  # what it estimated from the pool, it need not estimate again
                places = asked if pool is None else chance.permutation(len(hosts))[: len(asked)]
                part = _asking(recipe.rows(places), asked, len(hosts))
                follow(part, images, partners, chance, out[start : start + len(asked)])
            return out

        return encode


def _asking(recipe: Recipe, asked: Tensor, hosts: int) -> Recipe:
    """Put the images that are asked about in the first place; all others come from one table: the pool, then public."""
    partners = torch.cat([recipe.sources[:, 1:], recipe.public_sources + hosts], dim=1)
    labels = None if recipe.label_weights is None else recipe.label_weights[:, :1]
    return replace(recipe, sources=asked[:, None], public_sources=partners, label_weights=labels)


def joined(first: Samples, second: Samples | None) -> Samples:
    """Give two sets as one, without labels; bytes stay bytes where both have them."""
    if second is None:
        return first
    check_shapes(first, second, "public")
    parts = [first, second]
    if first.images.dtype != second.images.dtype:
        parts = [Samples(part.pixels(), part.labels) for part in parts]
    images = torch.cat([part.images for part in parts])
    scale = torch.cat([part.scale.expand(len(part), first.shape[0]) for part in parts])
    shift = torch.cat([part.shift.expand(len(part), first.shape[0]) for part in parts])
    return Samples(images, torch.empty(len(images), 0), scale, shift, normalisation=first.normalisation)


def checked_recipe(
    encoder: RecipeEncoder, private: Samples, public: Samples | None, chance: Randomness, rounds: int = 1
) -> Recipe:
    """Write the recipe, after the checks that all schemes share, each round's rows in a fresh random order."""
    if len(private) < 2:
        raise BadInput(f"hiding needs at least two images to mix, and there are {len(private)}: add images.")
    check_shapes(private, public, "public")
    if rounds < 1:
        raise BadInput(f"every image is encoded in one round or more, not in {rounds}.")
    written: list[Recipe] = []
    for _ in range(rounds):
        scheme = written[0].scheme if written else encoder  # what it estimated once, it need not estimate again
        assert isinstance(scheme, MixingEncoder)  # noqa: S101 (a scheme fills in itself)
        recipe = scheme.recipe(private, public, chance)
        written.append(recipe.rows(chance.permutation(len(recipe))))
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
