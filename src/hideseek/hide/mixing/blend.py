"""Blending some rows of a release: by the compiled kernel on a processor, by torch on an accelerator."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from hideseek.hide.mixing.recipe import Recipe
from hideseek.records import Samples
from hideseek.records.moving import moved

Rows = Float[Tensor, "m c h w"]
Mask = UInt8[Tensor, "m c bytes"]
Transforms = Float[Tensor, "m k 2 3"]
Blend = Callable[[Rows, Recipe, Mask | None, Transforms | None], None]


def blender(private: Samples, public: Samples | None, *, moves: bool = False, fresh: bool = False) -> Blend:
    """Give the function that writes σ ∘ (noise + Σ_j λ_j x_{s_j}) into rows, which hold the noise already if any.

    It is called for many small blocks of rows, so whatever can be looked up once is looked up here. `fresh`: nobody has
    touched the memory of the rows yet.
    """
    if private.images.device.type == "cpu" and not moves:
        return by_kernel(private, public, fresh)
    return partial(by_torch, private, public)


def by_kernel(private: Samples, public: Samples | None, fresh: bool = False) -> Blend:
    """Blend in one pass over the memory, images where they lie."""
    from hideseek.hide.mixing import kernel

    own, scale, shift = _table(private)
    others, public_scale, public_shift = _table(private if public is None else public)
    unmasked = np.empty((0, 1, 1), np.uint8)

    def blend(out: Rows, recipe: Recipe, mask: Mask | None, _: Transforms | None) -> None:
        kernel.mix_rows(
            out.flatten(2).numpy(),
            own,
            others,
            (scale, shift, public_scale, public_shift),
            recipe.sources.numpy(),
            recipe.public_sources.numpy(),
            recipe.weights.numpy(),
            unmasked if mask is None else mask.numpy(),
            recipe.noise is not None,
            fresh,
        )

    return blend


def _table(samples: Samples) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Give images as n × c × pixels, with a scale and a shift for every channel of each of them, or of all."""
    scale, shift = torch.broadcast_tensors(samples.scale, samples.shift)
    every = (-1, samples.shape[0])
    return (
        samples.images.flatten(2).numpy(),
        scale.expand(every).contiguous().numpy(),
        shift.expand(every).contiguous().numpy(),
    )


def by_torch(
    private: Samples,
    public: Samples | None,
    out: Rows,
    recipe: Recipe,
    mask: Mask | None,
    transforms: Transforms | None,
) -> None:
    """Blend with torch's operations, on any device, and with images moved before they are mixed."""
    if recipe.noise is None:
        out.zero_()
    own = recipe.sources.shape[1]
    parts = [(private, recipe.sources, slice(own)), (public, recipe.public_sources, slice(own, None))]
    for samples, sources, columns in parts:
        if samples is not None and sources.numel():
            maps = None if transforms is None else transforms[:, columns]
            out += _sum(samples, sources, recipe.weights[:, columns], maps).view(out.shape)
    if mask is not None:
        out.mul_(_unpacked(mask.to(out.device), out.shape))


def _sum(
    samples: Samples, sources: Int[Tensor, "m k"], weights: Float[Tensor, "m k"], transforms: Transforms | None
) -> Float[Tensor, "m d"]:
    """Sum every row's images, gathered once, by one embedding bag."""
    device = samples.images.device
    images = samples.pixels(sources.flatten().to(device))
    if transforms is not None:
        images = moved(images, transforms.flatten(0, 1))
    places = torch.arange(sources.numel(), device=device).view(sources.shape)
    weights = weights.to(device).contiguous()
    return functional.embedding_bag(places, images.flatten(1), per_sample_weights=weights, mode="sum")


def _unpacked(mask: Mask, shape: torch.Size) -> Rows:
    """Unpack mask bits to factors −1 and +1, on whatever device they are."""
    pixels = shape[2] * shape[3]
    bits = (mask[..., None] >> torch.arange(8, device=mask.device, dtype=torch.uint8)) & 1
    return (1.0 - 2.0 * bits.flatten(2)[..., :pixels]).view(shape)
