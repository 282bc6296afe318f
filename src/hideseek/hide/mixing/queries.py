"""Encoding the images that a model is asked about, each with partners from a pool."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from jaxtyping import Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.hide.mixing.checked_recipe import check_shapes
from hideseek.hide.mixing.follow import follow
from hideseek.hide.mixing.recipe import Recipe, one_after_another
from hideseek.records import EncodedRelease, Queries, Samples
from hideseek.records.mixing_secret import MixingSecret

if TYPE_CHECKING:
    from hideseek.hide.encoders.base import RecipeEncoder


def query_encoder(
    encoder: "RecipeEncoder", pool: Samples | None, public: Samples | None, chance: Randomness
) -> Callable[[Samples], Queries]:
    """Give the function that encodes queries, with partners from the pool and the public images.

    A query takes the place of a member of the pool: it gets the row that the scheme would have made for that member.
    Without a pool, the queries are each other's partners.
    """
    scheme = encoder
    others = None if pool is None else joined(pool, public)

    def encode(images: Samples) -> Queries:
        nonlocal scheme
        members = images if pool is None else pool
        check_shapes(images, members, "pool")
        check_shapes(images, public, "public")
        partners = joined(images, public) if others is None else others
        out = torch.empty(len(images), *images.shape, device=images.images.device)
        shares = torch.empty(len(images))
        start = 0
        for recipe in _recipes(scheme, len(images), members, public, chance, shuffled=pool is not None):
            scheme = recipe.scheme  # what it estimated from the pool, it need not estimate again
            part = _for_queries(recipe, torch.arange(start, start + len(recipe)), len(members))
            follow(part, images, partners, chance, out[start : start + len(recipe)])
            shares[start : start + len(recipe)] = part.weights[:, 0]
            start += len(recipe)
        return Queries(out, shares)

    return encode


def hide_queries(
    encoder: "RecipeEncoder", queries: Samples, pool: Samples, public: Samples | None, chance: Randomness, times: int
) -> tuple[EncodedRelease, MixingSecret]:
    """Encode every query `times` times, as hidden inference does: what the server sees, and the truth behind it.

    The private images are those of the pool, then the queries; both are in the rows. A row was made for its query: that
    is what `made_for` reveals, and the server knows it, since it averages its answers over a query's encodings. Queries
    have no labels. `rounds` is how many rows there are for each private image, rounded down.
    """
    check_shapes(queries, pool, "pool")
    check_shapes(queries, public, "public")
    drawn: list[Recipe] = []
    for _ in range(times):
        scheme = drawn[0].scheme if drawn else encoder
        drawn += _recipes(scheme, len(queries), pool, public, chance, shuffled=True)
    recipe = one_after_another(drawn)
    asked = torch.arange(len(queries)).repeat(times) + len(pool)
    recipe = replace(recipe, sources=torch.cat([asked[:, None], recipe.sources[:, 1:]], dim=1))
    private = joined(pool, queries)
    batch = follow(recipe, private, public, chance)
    used = public if encoder.mixes_public else None
    rounds = max(1, len(recipe) // len(private))
    release = EncodedRelease(batch.encoded, recipe.scheme, used, rounds, seed=chance.seed)
    truth = (recipe.sources, recipe.public_sources, recipe.weights, batch.mask, batch.transforms)
    return release, MixingSecret(private, *truth)


def about_pool(secret: MixingSecret, pool: int) -> MixingSecret:
    """Give the truth about the first `pool` private images alone: what queries show of the images they are mixed with.

    For reconstructions and links; the rows hold the queries too.
    """
    return replace(
        secret,
        private=secret.private.take(slice(0, pool)),
        sources=secret.sources[:, 1:],
        weights=secret.weights[:, 1:],
    )


def _recipes(
    scheme: "RecipeEncoder", count: int, members: Samples, public: Samples | None, chance: Randomness, *, shuffled: bool
) -> Iterator[Recipe]:
    """Draw the recipes of so many queries, at most as many at a time as there are members to take the place of."""
    for start in range(0, count, len(members)):
        recipe = scheme.recipe(members, public, chance)
        scheme = recipe.scheme
        places = chance.permutation(len(members)) if shuffled else torch.arange(len(members))
        yield recipe.rows(places[: count - start])


def _for_queries(recipe: Recipe, queries: Int[Tensor, " n"], members: int) -> Recipe:
    """Put the queries in the first place; all other images come from one table: the members, then the public ones."""
    partners = torch.cat([recipe.sources[:, 1:], recipe.public_sources + members], dim=1)
    labels = None if recipe.label_weights is None else recipe.label_weights[:, :1]
    return replace(recipe, sources=queries[:, None], public_sources=partners, label_weights=labels)


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
