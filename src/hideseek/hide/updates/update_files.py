"""Updates on disk: a folder with the model, a file for each update, and release.json, written last; and their secret.

As with encodings, the folder holds what an attacker may see, and checksums find damage, not forgery.
"""

import hashlib
import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from hideseek.errors import BadInput
from hideseek.files import new_file, new_folder, read_bytes, read_record
from hideseek.hide.files.release_checks import constants
from hideseek.hide.files.schemes import scheme_of, to_json
from hideseek.hide.files.secret_checks import PATIENTS
from hideseek.hide.updates.owned_modules import check_takes, new_each_time
from hideseek.hide.updates.recomputed import Recomputed
from hideseek.hide.updates.update_checks import as_float32, check_update, checked_description, checked_truth
from hideseek.models import MODELS
from hideseek.models import build as build_named
from hideseek.records import Samples
from hideseek.records.shared_model import SharedModel
from hideseek.records.update_encoder import UpdateEncoder
from hideseek.records.update_release import UpdateRelease
from hideseek.records.update_secret import UpdateSecret
from hideseek.train.state_files import read_state, write_state

FORMAT, KIND = 1, "updates"
WITHHELD = ("labels", "statistics", "sources", "weights", "crafted")  # what only stronger attackers have
MODEL, SECRET = "model", "secret of updates"  # what files are called in sentences


def update_name(number: int) -> str:
    """Give the name of an update's file."""
    return f"update-{number:05}.safetensors"


def write_updates(
    folder: Path, release: UpdateRelease, secret: Path | None = None, truth: UpdateSecret | None = None
) -> None:
    """Write a release, and its ground truth where it is known, each whole or not at all."""
    if secret is not None:
        _check_secret(folder, secret)
    if len(release.models) > 1:
        raise BadInput("updates of several models cannot be written to one folder: write each round by itself.")
    for name in WITHHELD:
        if getattr(release, name) is not None:
            raise BadInput(f"{name} are not part of a release, but of who knows more: write it without them.")
    about: dict[str, Any] = {
        "format": FORMAT,
        "kind": KIND,
        "scheme": to_json(release.scheme),
        "model": release.models[0].name,
        "shape": list(release.shape),
        "classes": release.classes,
        "normalisation": asdict(release.normalisation),
        "updates": len(release.updates),
        "sizes": None if release.sizes is None else list(release.sizes),
        "reproducible": release.reproducible,
        "buffered": release.buffers is not None,
        "rounds": None if release.round_of is None else release.round_of.tolist(),
        "unknown": list(release.scheme.work.unknown),
        "built": "by its name" if release.models[0].name in MODELS else "by its owner",
        **({"seed": release.seed} if release.reproducible else {}),
    }
    with new_folder(folder) as partial_folder:
        write_state(partial_folder / "model.safetensors", release.models[0].state, {"kind": KIND})
        for number, update in enumerate(release.updates):
            buffers = {} if release.buffers is None else release.buffers[number]
            tensors = {f"update.{name}": tensor for name, tensor in update.items()}
            tensors |= {f"buffer.{name}": tensor for name, tensor in buffers.items()}
            write_state(partial_folder / update_name(number), tensors, {"kind": KIND, "number": number})
        text = json.dumps(about, indent=1, ensure_ascii=False, allow_nan=False).encode()
        with new_file(partial_folder / "release.json") as file:
            file.write(text)
        if secret is not None and truth is not None:
            _write_secret(secret, truth, hashlib.sha256(text).hexdigest())


def _check_secret(folder: Path, secret: Path) -> None:
    if folder.resolve() in (secret.resolve(), *secret.resolve().parents):
        raise BadInput(f"a secret inside {folder} would be shared with it: keep it in another place.")
    if secret.exists() or secret.is_symlink():
        raise BadInput(f"{secret} exists already: choose another name or remove it first.")


def _write_secret(path: Path, truth: UpdateSecret, release: str) -> None:
    private = truth.private
    tensors = {
        "private_images": private.images,
        "private_labels": private.labels,
        "private_scale": private.scale,
        "private_shift": private.shift,
        "sources": truth.sources,
        "weights": truth.weights,
        "round_of": truth.round_of,
    }
    if private.patients is not None:
        tensors[PATIENTS] = private.records
    if isinstance(truth.again, Recomputed) and truth.sources.shape[2] > 1:  # mixtures: the rows themselves
        tensors["rows"] = torch.cat([rows.pixels() for rows in truth.again.rows])
        tensors["labels"] = torch.cat([rows.labels for rows in truth.again.rows])
    about = {
        "release": release,
        "classes": list(private.classes),
        "normalisation": asdict(private.normalisation),
        "signs": truth.signs,
    }
    write_state(path, tensors, about, mode=0o600)


def holds_updates(folder: Path) -> bool:
    """Tell whether a release is of updates of a model."""
    try:
        about = read_record(folder / "release.json")
    except (OSError, ValueError, BadInput):  # who reads the release says what is wrong with it
        return False
    return isinstance(about, dict) and about.get("kind") == KIND


def read_updates(folder: Path, build: Callable[[], nn.Module] | None = None) -> UpdateRelease:
    """Read updates, after checking all of them; `build` makes the model, where that is none of MODELS."""
    about = checked_description(_description(folder), folder)
    scheme = scheme_of(about["scheme"], UpdateEncoder)  # type: ignore[type-abstract] # which is built by its name
    channels, height, width = about["shape"]
    if build is None and about.get("built") == "by its owner":
        raise BadInput(
            f"{folder} holds updates of a model of its owner, {about['model']}: give the function that builds it, from"
            " Python."
        )
    named = partial(build_named, about["model"], (channels, height, width), about["classes"])
    make = named if build is None else new_each_time(build)
    state, _ = read_state(folder / "model.safetensors", MODEL)
    with nullcontext() if build is not None else torch.device("meta"):  # where ours take no memory
        planned = make()
    check_update(state, planned.state_dict(), folder / "model.safetensors")
    trained = {name: each for name, each in planned.named_parameters() if each.requires_grad}
    model = SharedModel(about["model"], make, as_float32(state, planned.state_dict(), folder / "model.safetensors"))
    if build is not None:
        check_takes(model, (channels, height, width), about["classes"], scheme.mode, scheme.work)
    updates, buffers, buffered = [], [], about.get("buffered", scheme.sends == "weights")
    for number in range(about["updates"]):
        path = folder / update_name(number)
        tensors, _ = read_state(path, "update")
        parts: dict[str, dict[str, Tensor]] = {"update": {}, "buffer": {}}
        for name, tensor in tensors.items():
            parts.setdefault(name.partition(".")[0], {})[name.partition(".")[2]] = tensor
        check_update(parts["update"], trained, path)
        check_update(parts["buffer"], dict(planned.named_buffers()) if buffered else {}, path)
        updates.append(as_float32(parts["update"], trained, path))
        buffers.append(parts["buffer"])
    return UpdateRelease(
        tuple(updates),
        (model,),
        replace(scheme, start=model, unknown=tuple(about.get("unknown", ()))),  # type: ignore[type-var]
        (channels, height, width),
        about["classes"],
        constants(about["normalisation"], channels),
        None if about["sizes"] is None else tuple(about["sizes"]),
        tuple(buffers) if buffered else None,
        None if about.get("rounds") is None else torch.tensor(about["rounds"]),
        seed=about.get("seed"),
    )


def _description(folder: Path) -> object:
    path = folder / "release.json"
    if not path.is_file():
        raise BadInput(f"{folder} holds no updates, since it has no release.json: name the release's folder.")
    try:
        return read_record(path)
    except (OSError, ValueError):
        raise BadInput(f"{path} is damaged: get the release again from where it came.") from None


def read_update_secret(path: Path, folder: Path, release: UpdateRelease) -> UpdateSecret:
    """Read the secret of a release, after checking it; that of another release is refused."""
    tensors, about = read_state(path, SECRET)
    if about.get("release") != hashlib.sha256(read_bytes(folder / "release.json")).hexdigest():
        raise BadInput(f"{path} belongs to another release: name the secret that was kept with it.")
    try:
        private = checked_truth(tensors, about, release)
    except (KeyError, TypeError, ValueError, BadInput):
        raise BadInput(f"{path} is not a {SECRET}, or it is damaged: use another copy of it.") from None
    counts = (tensors["sources"][:, :, 0] >= 0).sum(1).tolist()
    if "rows" in tensors:
        all_rows = Samples(tensors["rows"], tensors["labels"], normalisation=private.normalisation)
    else:
        places = tensors["sources"][:, :, 0]
        all_rows = private.take(places[places >= 0])
    starts = [sum(counts[:number]) for number in range(len(counts))]
    rows = tuple(all_rows.take(slice(start, start + count)) for start, count in zip(starts, counts, strict=True))
    again = Recomputed(release.models[0], release.scheme.mode, rows, release.scheme, release.seed)
    truth = tensors["sources"], tensors["weights"], tensors["round_of"]
    return UpdateSecret(private, *truth, about["signs"], again)
