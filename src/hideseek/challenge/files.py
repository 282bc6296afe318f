"""A challenge on disk: encryption.npy and label.npy as its authors publish them, and challenge.json beside them."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hideseek.challenge.arrays import Floats, read_array, write_array
from hideseek.errors import BadInput
from hideseek.files import new_file, new_folder, read_record
from hideseek.hide import InstaHide
from hideseek.hide.files.release_checks import ROUNDING, constants
from hideseek.hide.files.schemes import from_json, to_json
from hideseek.hide.files.secret_files import SecretWriter
from hideseek.hide.mixing.recipe import Batch, Recipe
from hideseek.records import EncodedRelease, MixingEncoder, Normalisation, Samples
from hideseek.records.mixing_secret import MixingSecret

FORMAT = 1
ENCRYPTION, LABEL, ABOUT = "encryption.npy", "label.npy", "challenge.json"
KEYS = {"format", "scheme", "images", "rounds", "normalisation", "classes", "seal"}
AUTHORS = InstaHide(k=6, k_private=2)  # the scheme of the authors' challenge: 100 images, 50 rows each


@dataclass(frozen=True)
class Challenge:
    """What is given to who takes a challenge up: a release, and the seal of the secret where there is one."""

    release: EncodedRelease
    seal: str | None = None
    digest: str = ""
    """What the secret knows the challenge by; empty where it states nothing of itself."""


def write_challenge(folder: Path, release: EncodedRelease, secret: MixingSecret, keep: Path) -> None:
    """Write a challenge to a folder, and the secret to a file that only its owner may read.

    challenge.json has a digest of the secret, the seal: who set the challenge can show later that nothing was changed.
    """
    recipe = Recipe(release.scheme, secret.sources, secret.weights, secret.public_sources)  # type: ignore[arg-type]
    encoded = release.encoded
    about = {
        "format": FORMAT,
        "scheme": to_json(release.scheme),
        "images": len(secret.private),
        "rounds": release.rounds,
        "normalisation": asdict(encoded.normalisation),
        "classes": encoded.labels.shape[1],
        "seal": seal(secret),
    }
    text = json.dumps(about, indent=1, allow_nan=False).encode()
    with SecretWriter(keep, folder, recipe, secret.private, release.public) as keeper, new_folder(folder) as partial:
        keeper.keep(0, Batch(encoded, secret.mask, secret.transforms))
        write_array(partial / ENCRYPTION, encoded.pixels().permute(0, 2, 3, 1).numpy())
        write_array(partial / LABEL, encoded.labels.numpy())
        with new_file(partial / ABOUT) as file:
            file.write(text)
        keeper.finish(hashlib.sha256(text).hexdigest())


def seal(secret: MixingSecret) -> str:
    """Give a digest of all that is secret; without the masks and the weights nobody can try images on it."""
    total = hashlib.sha256()
    parts = (
        secret.private.images,
        secret.sources,
        secret.public_sources,
        secret.weights,
        secret.mask,
        secret.transforms,
    )
    for part in parts:
        array = np.empty(0, np.uint8) if part is None else np.ascontiguousarray(part.cpu().numpy())
        total.update(str((array.dtype, array.shape)).encode())
        total.update(array.reshape(-1).view(np.uint8).data)
    return total.hexdigest()


def read_challenge(folder: Path, scheme: MixingEncoder | None = None, images: int | None = None) -> Challenge:
    """Read a challenge, ours or the authors' own, which says nothing of itself.

    `scheme` and `images` stand for what is not stated; by default the authors' scheme, and as many images as rows.
    """
    encryption, labels = read_array(folder / ENCRYPTION), read_array(folder / LABEL)
    _check(encryption, labels, folder)
    about = _about(folder)
    normalisation, rounds = Normalisation(), 1
    if about is not None:
        try:
            scheme, images, rounds = from_json(about["scheme"]), about["images"], about["rounds"]
            normalisation = constants(about["normalisation"], encryption.shape[3])
        except BadInput:
            raise _damaged(folder) from None
        if images * rounds != len(encryption) or about["classes"] != labels.shape[1]:
            raise BadInput(
                f"{folder / ABOUT} states other rows or classes than {ENCRYPTION} and {LABEL} have: get them again."
            )
    elif images is not None:
        if not 2 <= images <= len(encryption):
            raise BadInput(
                f"a challenge of {len(encryption):,} rows has 2 to {len(encryption):,} private images, not {images:,}."
            )
        rounds = max(1, round(len(encryption) / images))
    pixels = torch.from_numpy(encryption).permute(0, 3, 1, 2).contiguous()
    encoded = Samples(pixels, torch.from_numpy(labels), normalisation=normalisation)
    release = EncodedRelease(encoded, AUTHORS if scheme is None else scheme, None, rounds)
    if about is None:
        return Challenge(release)
    return Challenge(release, about["seal"], hashlib.sha256((folder / ABOUT).read_bytes()).hexdigest())


def _check(encryption: Floats, labels: Floats, folder: Path) -> None:
    """Refuse arrays that are no rows of images, or no mixed labels of them."""
    shape = encryption.shape
    if len(shape) != 4 or shape[3] not in (1, 3) or 0 in shape:
        raise BadInput(
            f"{folder / ENCRYPTION} has the shape {shape}: it must be rows × height × width × channels, 1 or 3."
        )
    if labels.ndim != 2 or len(labels) != shape[0]:
        raise BadInput(f"{folder / LABEL} has the shape {labels.shape}: it must be {shape[0]} rows × classes.")
    if labels.size and (labels.min() < 0 or labels.sum(1).max() > 1 + ROUNDING):
        raise BadInput(f"{folder / LABEL} holds labels that are negative or sum to more than 1: they must be weights.")


def _about(folder: Path) -> dict[str, Any] | None:
    """Read challenge.json, where there is one."""
    path = folder / ABOUT
    if not path.exists():
        return None
    try:
        about = read_record(path)
    except (OSError, ValueError):
        raise _damaged(folder) from None
    counts = isinstance(about, dict) and all(
        type(about.get(key)) is int for key in ("format", "images", "rounds", "classes")
    )
    if not counts or set(about) != KEYS or about["format"] != FORMAT or min(about["images"], about["rounds"]) < 1:
        raise _damaged(folder)
    if not isinstance(about["normalisation"], dict) or not isinstance(about["seal"], str):
        raise _damaged(folder)
    return about  # type: ignore[no-any-return]


def _damaged(folder: Path) -> BadInput:
    return BadInput(f"{folder / ABOUT} does not describe a challenge: get it again from where it came.")
