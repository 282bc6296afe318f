"""Trained comparers, kept in the user's cache folder: by scheme, images that they learned from, and settings."""

import logging
import os
from collections.abc import Callable
from pathlib import Path

import torch
from blake3 import blake3

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.files import content
from hideseek.records import EncodedRelease
from hideseek.seek.networks.train_comparer import Network, build
from hideseek.seek.networks.wide_comparer import WideResNet
from hideseek.train.state_files import read_state, write_state

KIND = "comparer"
WORTH = 200  # steps of training, from which on a comparer is kept
SOME = 64  # images that a set is known by

log = logging.getLogger(__name__)


def folder() -> Path:
    """Give the folder: XDG_CACHE_HOME/hideseek/comparers, or ~/.cache/hideseek/comparers."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hideseek" / "comparers"


def kept_comparer(
    release: EncodedRelease,
    steps: int,
    members: int,
    chance: Randomness,
    make: Callable[[], Network],
    wide: WideResNet | None = None,
) -> Network:
    """Give the comparer of an earlier run, or make one and keep it.

    With a seed, a comparer is kept for this very stream of chance, so that a run can be repeated; else for all.
    """
    if steps < WORTH:
        return make()
    path = folder() / f"{_key(release, steps, members, chance, wide)}.safetensors"
    network = build(release, members, wide)
    try:
        if path.exists():
            tensors, _ = read_state(path, KIND)
            network.load_state_dict(tensors)
            log.info("a comparer of an earlier run is used: %s", path)
            return network.eval()
    except (BadInput, RuntimeError):
        log.info("the comparer %s cannot be used, and is made again", path)
    network = make()
    try:
        write_state(path, network.state_dict(), {"steps": steps, "members": members})
    except (BadInput, OSError):
        log.info("the comparer cannot be kept at %s", path)
    return network


def _key(release: EncodedRelease, steps: int, members: int, chance: Randomness, wide: WideResNet | None) -> str:
    total = blake3(f"{release.scheme!r} {release.encoded.shape} {steps} {members} {wide!r}".encode())
    for samples in (release.own, release.public):
        if samples is None:
            total.update(b"none")
            continue
        some = torch.linspace(0, len(samples) - 1, min(SOME, len(samples))).long()
        total.update(f"{len(samples)} {samples.shape} {samples.normalisation!r}".encode())
        total.update(content(samples.pixels(some).cpu().numpy()))
    if chance.seed is not None:
        total.update(chance.key)
    return total.hexdigest()[:32]
