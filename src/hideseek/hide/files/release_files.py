"""Releases on disk: a folder of safetensors shards, with release.json beside them, written last.

What the folder holds is what an attacker may see: no mask, file name, date or machine, and no source or weight unless a
study of a stronger attacker gives them away. The checksums find damage, not forgery: whoever can change a shard can
change release.json too.
"""

import hashlib
import json
import math
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

import torch
from blake3 import blake3

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.files import content, need_space, new_file, new_folder, write_tensors
from hideseek.hide.encoders.base import RecipeEncoder, checked_recipe
from hideseek.hide.files.release_checks import FORMAT, check_given, checked_shard, constants, described, wanted_tensors
from hideseek.hide.files.schemes import from_json, to_json
from hideseek.hide.files.secret_files import SecretWriter
from hideseek.hide.mixing.blend import blender
from hideseek.hide.mixing.follow import block_rows, follow
from hideseek.hide.mixing.recipe import Batch, Recipe
from hideseek.progress import track
from hideseek.records import EncodedRelease, Samples
from hideseek.records.samples import describe_shape

SHARD = 1 << 25  # bytes of images, about: a block for each of two threads
WRITERS = 2  # shards that are hashed and written while the next one is made
Revealed = Literal["weights", "sources"]  # what a stronger attacker may be told


def write_release(
    encoder: RecipeEncoder,
    private: Samples,
    public: Samples | None,
    chance: Randomness,
    folder: Path,
    secret: Path | None = None,
    rounds: int = 1,
    give_away: tuple[Revealed, ...] = (),
) -> None:
    """Encode every private image once a round, shard by shard, so that memory stays bounded however large the set is.

    Whatever happens, `folder` is either complete or not there. `secret`, for research, gets the truth; `give_away`,
    for research too, puts what a stronger attacker would know into the release.
    """
    recipe = checked_recipe(encoder, private, public, chance, rounds)
    pixels = math.prod(private.shape)
    need_space(folder, 4 * len(recipe) * (pixels + private.labels.shape[1]))
    with SecretWriter(secret, folder, recipe, private) as keeper, new_folder(folder) as partial:
        shards = _write_shards(recipe, private, public, chance, partial, keeper, give_away)
        used = public if recipe.public_sources.shape[1] else None
        about = {
            "format": FORMAT,
            "scheme": to_json(recipe.scheme),
            "rows": len(recipe),
            "rounds": rounds,
            "given_away": sorted(give_away),
            "shape": list(private.shape),
            "classes": list(private.classes) or private.labels.shape[1],
            "normalisation": asdict(private.normalisation),
            "public": used and {"images": len(used), "blake3": digest(used)},
            "reproducible": chance.reproducible,
            **({"seed": chance.seed} if chance.reproducible else {}),
            "shards": shards,
        }
        text = json.dumps(about, indent=1, ensure_ascii=False, allow_nan=False).encode()
        with new_file(partial / "release.json") as file:
            file.write(text)
        keeper.finish(hashlib.sha256(text).hexdigest())


def _write_shards(
    recipe: Recipe,
    private: Samples,
    public: Samples | None,
    chance: Randomness,
    folder: Path,
    keeper: SecretWriter,
    give_away: tuple[Revealed, ...],
) -> list[dict[str, Any]]:
    """Make and write the shards, each while the ones before it are hashed and written."""
    pixels = math.prod(private.shape)
    step = max(1, SHARD // (4 * pixels) // block_rows(pixels)) * block_rows(pixels)
    buffers = [torch.empty(step, *private.shape, device=private.images.device) for _ in range(WRITERS + 1)]
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
            written.append(writer.submit(_write_shard, folder / _shard(number), batch, given))
        return [shard.result() for shard in written]


def _shard(number: int) -> str:
    return f"encoded-{number:05d}.safetensors"


def _write_shard(path: Path, batch: Batch, given: dict[str, torch.Tensor]) -> dict[str, Any]:
    tensors = {"images": batch.encoded.images, "labels": batch.encoded.labels, **given}
    digest = write_tensors(path, {name: tensor.cpu().numpy() for name, tensor in tensors.items()})
    return {"rows": len(batch.encoded), "blake3": digest}


def digest(samples: Samples) -> str:
    """Give a checksum of images as they are used: of what is stored and how it is scaled."""
    total = blake3()
    for part in (samples.scale, samples.shift, *samples.images.split(1024)):
        total.update(str((part.dtype, tuple(part.shape))).encode())
        total.update(content(part.cpu().numpy()))
    return total.hexdigest()


def read_release(folder: Path) -> EncodedRelease:
    """Read a release, after checking all of it: version, checksums, shapes, finite values, labels."""
    about = described(folder)
    names = about["classes"] if isinstance(about["classes"], list) else []
    scheme = from_json(about["scheme"])
    wanted = wanted_tensors(about, scheme)
    row_bytes = sum(torch.empty(0, dtype=dtype).element_size() * math.prod(shape) for dtype, shape in wanted.values())
    for number, shard in enumerate(about["shards"]):  # before room is made for what a stranger only claims to have
        path = folder / _shard(number)
        if not path.is_file() or path.stat().st_size < shard["rows"] * row_bytes:
            raise BadInput(f"{path} is damaged: get the release again from where it came.")
    whole = {name: torch.empty(about["rows"], *shape, dtype=dtype) for name, (dtype, shape) in wanted.items()}
    start = 0
    for number, shard in enumerate(track(about["shards"], "reading")):
        path = folder / _shard(number)
        tensors = checked_shard(path, shard, wanted)
        check_given(path, tensors, about["rows"] // about.get("rounds", 1))
        stop = start + shard["rows"]
        for name, tensor in tensors.items():
            whole[name][start:stop] = tensor
        start = stop
    encoded = Samples(
        whole["images"],
        whole["labels"],
        classes=tuple(names),
        normalisation=constants(about["normalisation"], about["shape"][0]),
    )
    rounds, weights, sources = about.get("rounds", 1), whole.get("weights"), whole.get("sources")
    made_for = None if sources is None else sources[:, 0]
    return EncodedRelease(encoded, scheme, None, rounds, weights, sources, made_for, seed=about.get("seed"))


def release_digest(folder: Path) -> str:
    """Give what a release is known by: the SHA-256 of its release.json, which has the checksums of all the rest."""
    path = folder / "release.json"
    if not path.is_file():
        raise BadInput(f"{folder} is not a complete release, since it has no release.json: name the release's folder.")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def with_public(release: EncodedRelease, folder: Path, public: Samples) -> EncodedRelease:
    """Put the public images that were mixed in beside a release, after checking that these are they."""
    used = described(folder)["public"]
    if used is None:
        raise BadInput(f"no public images were mixed into {folder}: give none.")
    if public.shape != release.encoded.shape:
        given, wanted = describe_shape(public.shape), describe_shape(release.encoded.shape)
        raise BadInput(
            f"public images of {given} cannot be in a release of {wanted}: load them at the size that it was made with."
        )
    if public.normalisation != release.encoded.normalisation:
        raise BadInput("the public images are normalised otherwise than the release: use its own constants.")
    if digest(public) != used["blake3"]:
        raise BadInput(
            f"these are not the {used['images']:,} public images that were mixed into {folder}: name the same set, at"
            " the same size."
        )
    return replace(release, public=public)
