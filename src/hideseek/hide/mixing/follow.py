"""Following a recipe: the rows of a release are made block by block, on all threads."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.hide.mixing.blend import Blend, blender
from hideseek.hide.mixing.buffers import fresh
from hideseek.hide.mixing.recipe import Batch, Recipe
from hideseek.records import Samples

BLOCK = 1 << 22  # pixels that one thread makes at a time: 16 MiB of floats


def follow(
    recipe: Recipe,
    private: Samples,
    public: Samples | None,
    chance: Randomness,
    out: Float[Tensor, "m c h w"] | None = None,
    blend: Blend | None = None,
) -> Batch:
    """Make all rows of a recipe, on as many threads as torch has, into `out` and by `blend` where they are given.

    Each block of rows draws from a stream of its own, so the result does not depend on the threads.
    """
    channels, height, width = private.shape
    size, device, cpu = (len(recipe), *private.shape), private.images.device, torch.device("cpu")
    images = fresh(size, torch.float32, device) if out is None else out
    packed = (len(recipe), channels, (height * width + 7) // 8)
    mask = fresh(packed, torch.uint8, cpu) if recipe.masked else None
    labels, mix_labels = fresh((len(recipe), private.labels.shape[1]), torch.float32, cpu), _label_mixer(private)
    transforms = torch.empty(*recipe.weights.shape, 2, 3) if recipe.geometry else None
    label_noise = torch.zeros(len(recipe), private.labels.shape[1]) if recipe.label_noise is not None else None
    blend_rows = blend or blender(private, public, moves=transforms is not None, fresh=out is None)

    def make(block: tuple[slice, Randomness]) -> None:
        rows, stream = block
        part = recipe.rows(rows)
        if part.noise is not None:
            images[rows] = part.noise.draw(channels * height * width, stream).view(-1, *private.shape)
        if label_noise is not None and part.label_noise is not None:
            label_noise[rows] = part.label_noise.draw(label_noise.shape[1], stream)
        if mask is not None:
            stream.fill(mask[rows].numpy())
        if transforms is not None and part.geometry is not None:
            transforms[rows] = part.geometry.draw(part.weights.shape, (height, width), stream)
        moves = None if transforms is None else transforms[rows]
        blend_rows(images[rows], part, None if mask is None else mask[rows], moves)
        recipe.precision.round_rows(images[rows], stream)
        mix_labels(labels[rows].numpy(), part)

    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        for _ in pool.map(make, _blocks(len(recipe), channels * height * width, chance)):
            pass
    if label_noise is not None:
        labels += label_noise
    shared = recipe.precision.round_labels(labels.to(private.labels.device), chance)
    encoded = Samples(images, shared, classes=private.classes, normalisation=private.normalisation)
    return Batch(encoded, mask, transforms)


def block_rows(pixels: int) -> int:
    """Tell how many rows of so many pixels make one block."""
    return max(1, BLOCK // pixels)


def _blocks(rows: int, pixels: int, chance: Randomness) -> Iterator[tuple[slice, Randomness]]:
    size = block_rows(pixels)
    starts = range(0, rows, size)
    for start, stream in zip(starts, chance.spawn(len(starts)), strict=True):
        yield slice(start, min(start + size, rows)), stream


def _label_mixer(private: Samples) -> Callable[[NDArray[np.float32], Recipe], None]:
    """Give the function that mixes the labels of some rows' private images.

    Public images have no labels, so the mass may be under 1 (InstaHide §3.2).
    """
    labels = private.labels.cpu().numpy()

    def mix(mixed: NDArray[np.float32], part: Recipe) -> None:
        weights = part.weights[:, : part.sources.shape[1]] if part.label_weights is None else part.label_weights
        mixed[...] = 0
        for sources, weight in zip(part.sources.numpy().T, weights.numpy().T, strict=True):
            mixed += weight[:, None] * labels[sources]

    return mix
