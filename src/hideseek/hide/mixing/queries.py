"""Encoding the images that a model is asked about, each with partners from a pool."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.hide.mixing.checked_recipe import check_shapes
from hideseek.hide.mixing.follow import follow
from hideseek.hide.mixing.recipe import Recipe
from hideseek.records import Samples

if TYPE_CHECKING:
    from hideseek.hide.encoders.base import RecipeEncoder


def query_encoder(
    encoder: "RecipeEncoder", pool: Samples | None, public: Samples | None, chance: Randomness
) -> Callable[[Samples], Float[Tensor, "n c h w"]]:
    """Give the function that encodes queries, with partners from the pool and the public images.

    A query takes the place of a member of the pool: it gets the row that the scheme would have made for that member.
    Without a pool, the queries are each other's partners.
    """
    scheme = encoder
    others = None if pool is None else joined(pool, public)

    def encode(images: Samples) -> Float[Tensor, "n c h w"]:
        nonlocal scheme
        members = images if pool is None else pool
        check_shapes(images, members, "pool")
        check_shapes(images, public, "public")
        partners = joined(images, public) if others is None else others
        out = torch.empty(len(images), *images.shape, device=images.images.device)
        for start in range(0, len(images), len(members)):
            queries = torch.arange(start, min(start + len(members), len(images)))
            recipe = scheme.recipe(members, public, chance)
            scheme = recipe.scheme  # what it estimated from the pool, it need not estimate again
            places = queries if pool is None else chance.permutation(len(members))[: len(queries)]
            part = _for_queries(recipe.rows(places), queries, len(members))
            follow(part, images, partners, chance, out[start : start + len(queries)])
        return out

    return encode


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
