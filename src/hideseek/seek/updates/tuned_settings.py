"""Settings that were searched for, kept in the user's cache folder: by model, scheme, own images, and search."""

import json
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from blake3 import blake3

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.files import content, new_file, parsed
from hideseek.records import Samples
from hideseek.records.update_release import UpdateRelease
from hideseek.train.state_files import state_digest

FORMAT = 1
SOME = 64  # images that a set is known by

log = logging.getLogger(__name__)


def folder() -> Path:
    """Give the folder: XDG_CACHE_HOME/hideseek/tuned, or ~/.cache/hideseek/tuned."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hideseek" / "tuned"


def kept_settings(
    release: UpdateRelease, search: object, chance: Randomness, make: Callable[[], dict[str, Any]]
) -> tuple[dict[str, Any], bool]:
    """Give what an earlier search found, or search and keep it; and whether it was kept.

    With a seed, it is kept for this very stream of chance, so that a run can be repeated; else for all.
    """
    path = folder() / f"{_key(release, search, chance)}.json"
    try:
        if path.is_file():
            found = parsed(path.read_text())
            if isinstance(found, dict) and found.get("format") == FORMAT:
                log.info("settings of an earlier search are used: %s", path)
                return found["found"], True
    except (ValueError, KeyError, OSError):
        log.info("the settings %s cannot be used, and are searched again", path)
    made = make()
    try:
        with new_file(path) as file:
            file.write(json.dumps({"format": FORMAT, "found": made}, allow_nan=False).encode())
    except (BadInput, OSError):
        log.info("the settings cannot be kept at %s", path)
    return made, False


def _key(release: UpdateRelease, search: object, chance: Randomness) -> str:
    told = release.labels is not None, release.sizes is not None, release.statistics is not None
    total = blake3(f"{release.scheme!r} {release.shape} {release.classes} {told} {search!r}".encode())
    total.update(state_digest(release.model(0).state).encode())
    own: Samples | None = release.own
    if own is not None:
        some = torch.linspace(0, len(own) - 1, min(SOME, len(own))).long()
        total.update(f"{len(own)} {own.shape} {own.normalisation!r}".encode())
        total.update(content(own.pixels(some).cpu().numpy()))
    if chance.seed is not None:
        total.update(chance.key)
    return total.hexdigest()[:32]
