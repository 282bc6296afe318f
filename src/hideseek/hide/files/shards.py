"""Writing the rows of a release in shards: one is made while the ones before it are hashed and written."""

import math
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hideseek.chance import Randomness
from hideseek.data.store import allocate
from hideseek.files import write_tensors
from hideseek.hide.files.release_checks import Revealed, shard_order
from hideseek.hide.files.secret_files import SecretWriter
from hideseek.hide.mixing.blend import blender
from hideseek.hide.mixing.follow import block_rows, follow
from hideseek.hide.mixing.precision import Precision
from hideseek.hide.mixing.recipe import Batch, Recipe
from hideseek.progress import track
from hideseek.records import Samples

SHARD = 1 << 25  # bytes of images, about: a block for each of two threads
WRITERS = 2  # shards that are hashed and written while the next one is made


def shard_name(number: int) -> str:
    """Give the name of a shard's file."""
    return f"encoded-{number:05d}.safetensors"


def write_shards(
    recipe: Recipe,
    private: Samples,
    public: Samples | None,
    chance: Randomness,
    folder: Path,
    keeper: SecretWriter,
    give_away: tuple[Revealed, ...],
) -> list[dict[str, Any]]:
    """Make and write the shards; returns the rows and the checksum of each."""
    pixels = math.prod(private.shape)
    step = max(1, SHARD // (4 * pixels) // block_rows(pixels)) * block_rows(pixels)
    shape, device = (min(step, len(recipe)), *private.shape), private.images.device
    buffers = [_buffer(shape, device) for _ in range(min(WRITERS + 1, -(-len(recipe) // step)))]
    blend = blender(private, public, moves=recipe.geometry is not None)
    written: list[Future[dict[str, Any]]] = []
    with ThreadPoolExecutor(WRITERS) as writer:
        for number, start in enumerate(track(range(0, len(recipe), step), "hiding")):
            part = recipe.rows(slice(start, start + step))
            if number > WRITERS:
                written[number - WRITERS - 1].result()  # its buffer is free again
            batch = follow(part, private, public, chance, buffers[number % len(buffers)][: len(part)], blend)
            keeper.keep(start, batch)
            given: dict[str, torch.Tensor] = {name: getattr(part, name) for name in give_away}
            written.append(writer.submit(_write_shard, folder / shard_name(number), batch, recipe.precision, given))
        return [shard.result() for shard in written]


def _buffer(shape: tuple[int, ...], device: torch.device) -> torch.Tensor:
    """Give room for the rows of a shard: beside the processor's memory, pages that the system can take back."""
    return torch.empty(shape, device=device) if device.type != "cpu" else torch.from_numpy(allocate(shape, np.float32))


def _write_shard(path: Path, batch: Batch, precision: Precision, given: dict[str, torch.Tensor]) -> dict[str, Any]:
    images, labels = precision.stored(batch.encoded.images), batch.encoded.labels
    tensors = {"images": images, "labels": labels, **given}
    order = shard_order(tensors, images.dtype)
    digest = write_tensors(path, {name: tensors[name].cpu().numpy() for name in order})
    return {"rows": len(batch.encoded), "blake3": digest}
