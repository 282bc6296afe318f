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
from hideseek.records.samples import in_words

FORMAT = 1
SHARD = 1 << 25  # bytes of images, about: a block for each of two threads
WRITERS = 2  # shards that are hashed and written while the next one is made
ROUNDING = 1e-5  # by which mixed labels may miss a sum of 1
Given = Literal["weights", "sources"]  # what a stronger attacker may be told


def write_release(
    encoder: MixingEncoder,
    private: Samples,
    public: Samples | None,
    chance: Randomness,
    folder: Path,
    secret: Path | None = None,
    rounds: int = 1,
    give_away: tuple[Given, ...] = (),
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
    give_away: tuple[Given, ...],
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
    about = _about(folder)
    names = about["classes"] if isinstance(about["classes"], list) else []
    scheme = from_json(about["scheme"])
    wanted = _wanted(about, scheme)
    row_bytes = sum(torch.empty(0, dtype=dtype).element_size() * math.prod(shape) for dtype, shape in wanted.values())
    for number, shard in enumerate(about["shards"]):  # before room is made for what a stranger only claims to have
        path = folder / _shard(number)
        if not path.is_file() or path.stat().st_size < shard["rows"] * row_bytes:
            raise BadInput(f"{path} is damaged: get the release again from where it came.")
    whole = {name: torch.empty(about["rows"], *shape, dtype=dtype) for name, (dtype, shape) in wanted.items()}
    start = 0
    for number, shard in enumerate(track(about["shards"], "reading")):
        path = folder / _shard(number)
        tensors = _checked_shard(path, shard, wanted)
        _check_given(path, tensors, about["rows"] // about.get("rounds", 1))
        stop = start + shard["rows"]
        for name, tensor in tensors.items():
            whole[name][start:stop] = tensor
        start = stop
    encoded = Samples(
        whole["images"],
        whole["labels"],
        classes=tuple(names),
        normalisation=_normalisation(about["normalisation"], about["shape"][0]),
    )
    rounds, weights, sources = about.get("rounds", 1), whole.get("weights"), whole.get("sources")
    return EncodedRelease(encoded, scheme, None, rounds, weights, sources, seed=about.get("seed"))


def _check_given(path: Path, tensors: dict[str, torch.Tensor], images: int) -> None:
    """Refuse places in the private set, or weights, that cannot be."""
    sources, weights = tensors.get("sources"), tensors.get("weights")
    if sources is not None and ((sources < 0).any() or (sources >= images).any()):
        raise BadInput(f"{path} names private images that are not there: do not use this release.")
    if weights is not None and ((weights < 0).any() or (weights.sum(1) > 1 + ROUNDING).any()):
        raise BadInput(f"{path} holds weights that are negative or sum to more than 1: do not use this release.")


def release_digest(folder: Path) -> str:
    """Give what a release is known by: the SHA-256 of its release.json, which has the checksums of all the rest."""
    path = folder / "release.json"
    if not path.is_file():
        raise BadInput(f"{folder} is not a complete release, since it has no release.json: name the release's folder.")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def with_public(release: EncodedRelease, folder: Path, public: Samples) -> EncodedRelease:
    """Put the public images that were mixed in beside a release, after checking that these are they."""
    used = _about(folder)["public"]
    if used is None:
        raise BadInput(f"no public images were mixed into {folder}: leave out --public.")
    if public.shape != release.encoded.shape:
        raise BadInput(
            f"public images of {in_words(public.shape)} cannot be in a release of {in_words(release.encoded.shape)}:"
            " give the --size that it was made with."
        )
    if public.normalisation != release.encoded.normalisation:
        raise BadInput("the public images are normalised otherwise than the release: use its own constants.")
    if digest(public) != used["blake3"]:
        raise BadInput(
            f"these are not the {used['images']:,} public images that were mixed into {folder}: name the same set, with"
            " the same --size."
        )
    return replace(release, public=public)


def _wanted(about: dict[str, Any], scheme: MixingEncoder) -> dict[str, tuple[torch.dtype, tuple[int, ...]]]:
    """Give the tensors of a shard: their types, and the shape of a row."""
    classes = len(about["classes"]) if isinstance(about["classes"], list) else about["classes"]
    private, public = scheme.meets
    kinds = {
        "images": (torch.float32, tuple(about["shape"])),
        "labels": (torch.float32, (classes,)),
        "weights": (torch.float32, (private + public,)),
        "sources": (torch.int64, (private,)),
    }
    return {name: kinds[name] for name in ("images", "labels", *about.get("given_away", ()))}


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
            and min(about["rows"], *about["shape"]) > 0
            and sum(shard["rows"] for shard in about["shards"]) == about["rows"]
            and all(isinstance(shard["blake3"], str) for shard in about["shards"])
            and (_counts(about["classes"]) or _names(about["classes"]))
            and about["reproducible"] == ("seed" in about)
            and type(about.get("seed", 0)) is int
            and set(about.get("given_away", ())) <= {"weights", "sources"}
            and _counts(about.get("rounds", 1))
            and about.get("rounds", 1) > 0
            and about["rows"] % about.get("rounds", 1) == 0
            and (about["public"] is None or _counts(about["public"]["images"]))
            and (about["public"] is None or isinstance(about["public"]["blake3"], str))
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


def _checked_shard(
    path: Path, shard: dict[str, Any], wanted: dict[str, tuple[torch.dtype, tuple[int, ...]]]
) -> dict[str, torch.Tensor]:
    """Read one shard and check it; the bytes that are hashed are the bytes that are used."""
    damaged = BadInput(f"{path} is damaged: get the release again from where it came.")
    try:
        content = path.read_bytes()
        if blake3(content).hexdigest() != shard["blake3"]:
            raise damaged
        tensors = load(content)
    except (OSError, SafetensorError):
        raise damaged from None
    shapes = {name: (shard["rows"], *shape) for name, (_, shape) in wanted.items()}
    if {name: tuple(tensor.shape) for name, tensor in tensors.items()} != shapes:
        raise BadInput(f"{path} does not hold images and labels of the shapes that release.json states.")
    for name, tensor in tensors.items():
        if tensor.dtype != wanted[name][0] or (tensor.is_floating_point() and not tensor.isfinite().all()):
            raise BadInput(f"{path} holds numbers that are not finite 32-bit floats: do not use this release.")
    labels = tensors["labels"]
    if (labels < 0).any() or (labels.sum(1) > 1 + ROUNDING).any():
        raise BadInput(f"{path} holds labels that are negative or sum to more than 1: do not use this release.")
    return tensors
