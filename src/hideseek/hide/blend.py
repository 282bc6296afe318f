"""Blending some rows of a release: by the compiled kernel on a processor, by torch on an accelerator."""

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor
from torch.nn import functional

from hideseek.hide.geometry import moved
from hideseek.hide.recipe import Recipe
from hideseek.records import Samples

Mask = UInt8[Tensor, "m c bytes"]
Transforms = Float[Tensor, "m k 2 3"]


def blend(
    out: Float[Tensor, "m c h w"],
    recipe: Recipe,
    private: Samples,
    public: Samples | None,
    mask: Mask | None,
    transforms: Transforms | None,
) -> None:
    """Write σ ∘ (noise + Σ_j λ_j x_{s_j}) into `out`, which holds the noise already where there is some."""
    if out.device.type == "cpu" and transforms is None:
        by_kernel(out, recipe, private, public, mask)
    else:
        by_torch(out, recipe, private, public, mask, transforms)


def by_kernel(
    out: Float[Tensor, "m c h w"], recipe: Recipe, private: Samples, public: Samples | None, mask: Mask | None
) -> None:
    """Blend in one pass over the memory, images where they lie."""
    from hideseek.hide import kernel

    others = private if public is None else public
    kernel.mix_rows(
        out.flatten(2).numpy(),
        private.images.flatten(2).numpy(),
        others.images.flatten(2).numpy(),
        (*_affine(private), *_affine(others)),
        recipe.sources.numpy(),
        recipe.public_sources.numpy(),
        recipe.weights.numpy(),
        np.empty((0, 1, 1), np.uint8) if mask is None else mask.numpy(),
        recipe.noise is not None,
    )


def _affine(samples: Samples) -> tuple[np.ndarray, np.ndarray]:
    every = (-1, samples.shape[0])
    return samples.scale.expand(every).contiguous().numpy(), samples.shift.expand(every).contiguous().numpy()


def by_torch(
    out: Float[Tensor, "m c h w"],
    recipe: Recipe,
    private: Samples,
    public: Samples | None,
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


def _unpacked(mask: Mask, shape: torch.Size) -> Float[Tensor, "m c h w"]:
    """Unpack mask bits to factors −1 and +1, on whatever device they are."""
    pixels = shape[2] * shape[3]
    bits = (mask[..., None] >> torch.arange(8, device=mask.device, dtype=torch.uint8)) & 1
    return (1.0 - 2.0 * bits.flatten(2)[..., :pixels]).view(shape)
