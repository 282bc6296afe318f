"""Releases on disk: a folder of safetensors shards, with release.json beside them, written last.

What the folder holds is what an attacker may see: no source, weight, mask, file name, date or machine. The checksums
find damage, not forgery: whoever can change a shard can change release.json too.
"""

import hashlib
import json
import math
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from blake3 import blake3
from safetensors import SafetensorError
from safetensors.torch import load

from hideseek.errors import BadInput
from hideseek.files import content, need_space, new_file, new_folder, write_tensors
from hideseek.hide.blend import blender
from hideseek.hide.encoder import MixingEncoder, checked_recipe
from hideseek.hide.follow import block_rows, follow
from hideseek.hide.recipe import Batch, Recipe
from hideseek.hide.schemes import from_json, to_json
from hideseek.hide.secret_files import SecretWriter
from hideseek.progress import track
from hideseek.randomness import Randomness
from hideseek.records import EncodedRelease, Normalisation, Samples

FORMAT = 1
SHARD = 1 << 25  # bytes of images, about: a block for each of two threads
WRITERS = 2  # shards that are hashed and written while the next one is made
ROUNDING = 1e-5  # by which mixed labels may miss a sum of 1


def write_release(
    encoder: MixingEncoder,
    private: Samples,
    public: Samples | None,
    chance: Randomness,
    folder: Path,
    secret: Path | None = None,
) -> None:
    """Encode every private image once, shard by shard, so that memory stays bounded however large the set is.

    Whatever happens, `folder` is either complete or not there. `secret`, for research, gets the truth.
    """
    recipe = checked_recipe(encoder, private, public, chance)
    pixels = math.prod(private.shape)
    need_space(folder, 4 * len(recipe) * (pixels + private.labels.shape[1]))
    with SecretWriter(secret, folder, recipe, private) as keeper, new_folder(folder) as partial:
        shards = _write_shards(recipe, private, public, chance, partial, keeper)
        used = public if recipe.public_sources.shape[1] else None
        about = {
            "format": FORMAT,
            "scheme": to_json(recipe.scheme),
            "rows": len(recipe),
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
            written.append(writer.submit(_write_shard, folder / _shard(number), batch))
        return [shard.result() for shard in written]


def _shard(number: int) -> str:
    return f"encoded-{number:05d}.safetensors"


def _write_shard(path: Path, batch: Batch) -> dict[str, Any]:
    tensors = {"images": batch.encoded.images, "labels": batch.encoded.labels}
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
    about = _about(folder)
    names = about["classes"] if isinstance(about["classes"], list) else []
    classes = len(names) or about["classes"]
    row_bytes = 4 * (math.prod(about["shape"]) + classes)
    for number, shard in enumerate(about["shards"]):  # before room is made for what a stranger only claims to have
        path = folder / _shard(number)
        if not path.is_file() or path.stat().st_size < shard["rows"] * row_bytes:
            raise BadInput(f"{path} is damaged: get the release again from where it came.")
    images, labels = torch.empty(about["rows"], *about["shape"]), torch.empty(about["rows"], classes)
    start = 0
    for number, shard in enumerate(track(about["shards"], "reading")):
        path = folder / _shard(number)
        tensors = _checked_shard(path, shard, (tuple(images.shape[1:]), tuple(labels.shape[1:])))
        stop = start + shard["rows"]
        images[start:stop], labels[start:stop] = tensors["images"], tensors["labels"]
        start = stop
    encoded = Samples(
        images, labels, classes=tuple(names), normalisation=_normalisation(about["normalisation"], about["shape"][0])
    )
    return EncodedRelease(encoded, from_json(about["scheme"]), seed=about.get("seed"))


def _about(folder: Path) -> dict[str, Any]:
    """Read release.json and check its form."""
    path = folder / "release.json"
    if not path.is_file():
        raise BadInput(f"{folder} is not a complete release, since it has no release.json: hide the images again.")
    try:
        about = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError):  # no JSON, no text, or a number of thousands of digits
        raise BadInput(f"{path} is damaged: get the release again from where it came.") from None
    if isinstance(about, dict) and isinstance(about.get("format"), int) and about["format"] > FORMAT:
        raise BadInput(
            f"{path} has the format {about['format']}, newer than the {FORMAT} that is known here: update hideseek."
        )
    if not _has_form(about):
        raise BadInput(f"{path} does not describe a release: get it again from where it came.")
    return about  # type: ignore[no-any-return]


def _counts(*values: object) -> bool:
    return all(isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40 for value in values)


def _names(values: object) -> bool:
    return isinstance(values, list) and len(values) > 0 and all(isinstance(value, str) for value in values)


def _has_form(about: Any) -> bool:
    try:
        return (
            about["format"] == FORMAT
            and _counts(about["rows"], *about["shape"], *(shard["rows"] for shard in about["shards"]))
            and len(about["shape"]) == 3
            and sum(shard["rows"] for shard in about["shards"]) == about["rows"]
            and all(isinstance(shard["blake3"], str) for shard in about["shards"])
            and (_counts(about["classes"]) or _names(about["classes"]))
            and about["reproducible"] == ("seed" in about)
            and type(about.get("seed", 0)) is int
            and isinstance(about["normalisation"], dict)
            and "scheme" in about
        )
    except (KeyError, TypeError):
        return False


def _normalisation(about: dict[str, Any], channels: int) -> Normalisation:
    """Read the constants, one for each channel where there are any."""
    kind, mean, std = about.get("kind"), about.get("mean"), about.get("std")
    if kind not in ("none", "channel", "image"):
        raise BadInput(f"the normalisation {kind!r} is unknown here: update hideseek.")
    for values, least in ((mean, -math.inf), (std, 0.0)):
        fits = isinstance(values, list) and len(values) == (channels if kind == "channel" else 0)
        if not fits or not all(isinstance(value, float) and least < value < math.inf for value in values or ()):
            raise BadInput("the normalisation of the release is damaged: get the release again from where it came.")
    return Normalisation(kind, tuple(mean or ()), tuple(std or ()))


def _checked_shard(path: Path, shard: dict[str, Any], shapes: tuple[tuple[int, ...], ...]) -> dict[str, torch.Tensor]:
    """Read one shard and check it; the bytes that are hashed are the bytes that are used."""
    damaged = BadInput(f"{path} is damaged: get the release again from where it came.")
    try:
        content = path.read_bytes()
        if blake3(content).hexdigest() != shard["blake3"]:
            raise damaged
        tensors = load(content)
    except (OSError, SafetensorError):
        raise damaged from None
    wanted = {"images": (shard["rows"], *shapes[0]), "labels": (shard["rows"], *shapes[1])}
    if {name: tuple(tensor.shape) for name, tensor in tensors.items()} != wanted:
        raise BadInput(f"{path} does not hold images and labels of the shapes that release.json states.")
    if any(tensor.dtype != torch.float32 or not tensor.isfinite().all() for tensor in tensors.values()):
        raise BadInput(f"{path} holds numbers that are not finite 32-bit floats: do not use this release.")
    labels = tensors["labels"]
    if (labels < 0).any() or (labels.sum(1) > 1 + ROUNDING).any():
        raise BadInput(f"{path} holds labels that are negative or sum to more than 1: do not use this release.")
    return tensors
