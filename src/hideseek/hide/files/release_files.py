"""Releases on disk: a folder of safetensors shards, with release.json beside them, written last.

What the folder holds is what an attacker may see: no mask, file name, date or machine, and no source or weight unless a
study of a stronger attacker gives them away. The checksums find damage, not forgery: whoever can change a shard can
change release.json too.
"""

import hashlib
import json
import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from hideseek.chance import Randomness
from hideseek.data.digests import images_digest
from hideseek.errors import BadInput
from hideseek.files import need_space, new_file, new_folder, read_bytes
from hideseek.hide.files.release_checks import (
    FORMAT,
    Revealed,
    check_given,
    checked_shard,
    constants,
    read_description,
    wanted_tensors,
)
from hideseek.hide.files.schemes import BadParameter, from_json, to_json
from hideseek.hide.files.secret_files import SecretWriter
from hideseek.hide.files.shards import shard_name, write_shards
from hideseek.hide.mixing.checked_recipe import checked_recipe
from hideseek.hide.mixing.precision import Precision
from hideseek.progress import track
from hideseek.records import EncodedRelease, Samples
from hideseek.records.samples import describe_shape
from hideseek.records.task import release_bytes

if TYPE_CHECKING:
    from hideseek.hide.encoders.base import RecipeEncoder


def write_release(
    encoder: "RecipeEncoder",
    private: Samples,
    public: Samples | None,
    chance: Randomness,
    folder: Path,
    secret: Path | None = None,
    rounds: int = 1,
    give_away: tuple[Revealed, ...] = (),
) -> None:
    """Encode every private image once a round, shard by shard, so that memory stays bounded however large the set is.

    Whatever happens, `folder` is either complete or not there. Two options are for research: `secret` is the file that
    gets the ground truth, and `give_away` names what of it goes into the release, for a stronger attacker.
    """
    size = release_bytes(len(private), rounds, private.shape, private.labels.shape[1])
    encoder.check_given_away(give_away)
    need_space(folder, size, "the release", "hide in fewer rounds, ")
    recipe = checked_recipe(encoder, private, public, chance, rounds)
    used = public if encoder.mixes_public else None
    with SecretWriter(secret, folder, recipe, private, used) as keeper, new_folder(folder) as partial:
        shards = write_shards(recipe, private, public, chance, partial, keeper, give_away)
        proved = recipe.scheme.bounds(())
        about = {
            "format": FORMAT,
            "scheme": to_json(recipe.scheme),
            "rows": len(recipe),
            "rounds": rounds,
            "given_away": sorted(give_away),
            "shape": list(private.shape),
            "classes": list(private.classes) or private.labels.shape[1],
            "normalisation": asdict(private.normalisation),
            "public": used and {"images": len(used), "blake3": images_digest(used)},
            "reproducible": chance.reproducible,
            **({"seed": chance.seed} if chance.reproducible else {}),
            **({"proved": [asdict(each) for each in proved]} if proved else {}),
            "shards": shards,
        }
        text = json.dumps(about, indent=1, ensure_ascii=False, allow_nan=False).encode()
        with new_file(partial / "release.json") as file:
            file.write(text)
        keeper.finish(hashlib.sha256(text).hexdigest())


def read_release(folder: Path) -> EncodedRelease:
    """Read a release, after checking all of it: version, checksums, shapes, finite values, labels."""
    about = read_description(folder)
    names = about["classes"] if isinstance(about["classes"], list) else []
    try:
        scheme = from_json(about["scheme"])
    except BadParameter as bad:
        raise BadInput(
            f"the parameter {bad.name} = {bad.value!r} of the release's scheme is not usable: it was damaged."
        ) from None
    wanted = wanted_tensors(about, scheme)
    row_bytes = sum(torch.empty(0, dtype=dtype).element_size() * math.prod(shape) for dtype, shape in wanted.values())
    for number, shard in enumerate(about["shards"]):  # before room is made for what a stranger only claims to have
        path = folder / shard_name(number)
        if not path.is_file() or path.stat().st_size < shard["rows"] * row_bytes:
            raise BadInput(f"{path} is damaged: get the release again from where it came.")
    whole = {name: torch.empty(about["rows"], *shape, dtype=dtype) for name, (dtype, shape) in wanted.items()}
    whole["images"], precision = whole["images"].float(), Precision.of(scheme)
    start = 0
    for number, shard in enumerate(track(about["shards"], "reading")):
        path = folder / shard_name(number)
        tensors = checked_shard(path, shard, wanted, row_bytes, noisy_labels=scheme.label_kind == "noisy")
        check_given(path, tensors, about["rows"] // about.get("rounds", 1))
        stop = start + shard["rows"]
        for name, tensor in tensors.items():
            whole[name][start:stop] = precision.restored(tensor) if name == "images" else tensor
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
    return hashlib.sha256(read_bytes(path)).hexdigest()


def with_public(release: EncodedRelease, folder: Path, public: Samples) -> EncodedRelease:
    """Put the public images that were mixed in beside a release, after checking that these are they."""
    used = read_description(folder)["public"]
    if used is None:
        raise BadInput(f"no public images were mixed into {folder}: give none.")
    if public.shape != release.encoded.shape:
        given, wanted = describe_shape(public.shape), describe_shape(release.encoded.shape)
        raise BadInput(
            f"public images of {given} cannot be in a release of {wanted}: load them at the size that it was made with."
        )
    if public.normalisation != release.encoded.normalisation:
        raise BadInput("the public images are normalised otherwise than the release: use its own constants.")
    if images_digest(public) != used["blake3"]:
        raise BadInput(
            f"these are not the {used['images']:,} public images that were mixed into {folder}: name the same set, at"
            " the same size."
        )
    return replace(release, public=public)
