"""What was recorded in a federation, found and read again: releases of one round after another, joined to one."""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hideseek.data.digests import images_digest
from hideseek.errors import BadInput
from hideseek.federate.encodings import CLOSED, POOL
from hideseek.federate.gate_log import GateLog
from hideseek.federate.messages import UPDATE
from hideseek.files import parsed
from hideseek.hide.files.release_files import read_release, release_digest
from hideseek.hide.files.secret_files import read_secret
from hideseek.hide.updates import together
from hideseek.hide.updates.update_files import holds_updates, read_update_secret, read_updates
from hideseek.records import EncodedRelease, Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.records.update_release import UpdateRelease
from hideseek.records.update_secret import UpdateSecret

DESCRIPTION, SECRET = "release.json", ".secret"
UPDATE_NAME = re.compile(r"round-\d+-([0-9a-f]+)")  # as `record_update` names it
NAMED = 4  # releases that are left out and named
CHANGED = "the images changed between rounds: audit each round by itself."
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Recording:
    """The releases of one party, one for each round, and where their ground truth is, if it is here."""

    name: str
    folders: tuple[Path, ...]
    secrets: tuple[Path, ...] = ()

    @property
    def judged(self) -> bool:
        """Tell whether the ground truth of every release is here."""
        return len(self.secrets) == len(self.folders)

    @property
    def of_updates(self) -> bool:
        """Tell whether updates were recorded, or encodings."""
        return holds_updates(self.folders[0])


def recordings(folder: Path) -> list[Recording]:
    """Find what was recorded below a folder: of a party, of a server, or of a whole simulation."""
    if not folder.is_dir():
        raise BadInput(f"{folder} is no folder: name that of a party, or of a server, that recorded.")
    found = sorted(path.parent for path in folder.rglob(DESCRIPTION) if ".partial" not in str(path))
    found = [release for release in found if _left_the_node(release)]
    parties: dict[Path, list[Path]] = {}
    for release in found:
        parties.setdefault(_party(release), []).append(release)
    if not parties:
        raise BadInput(f"nothing was recorded in {folder}: federate with --record.")
    made = [_recording(folder, *each) for each in sorted(parties.items())]
    if not any(each.secrets for each in made):
        return made
    return [kept for each in made if (kept := _with_truth(each)) is not None]


def _left_the_node(release: Path) -> bool:
    """Tell whether an update was sent: the log of the gate beside it has its digest, where there is a log."""
    named, log = UPDATE_NAME.fullmatch(release.name), GateLog(release.parent.parent)
    if named is None or not log.entries() or any(each.startswith(named[1]) for each in log.released(UPDATE)):
        return True
    _log.warning("%s is left out: the gate did not let it leave.", release)
    return False


def _party(release: Path) -> Path:
    """Give the folder that stands for the party of a release.

    A server's pool has a folder for every round, with those of all parties in it, and a file that says whose they are.
    What came in a round that was not closed is taken for a party's of its own.
    """
    pool = release.parent.parent
    if pool.name != POOL:
        return release.parent
    closed = release.parent / CLOSED
    known = parsed(closed.read_text("utf-8")).get("parties", {}) if closed.is_file() else {}
    return pool / (f"party-{known[release.name]}" if release.name in known else release.name)


def _recording(folder: Path, parent: Path, releases: Sequence[Path]) -> Recording:
    """Describe what one party sent, with all ground truths that are there."""
    secrets = [each.with_suffix(SECRET) for each in releases]
    name = "-".join(part for part in parent.relative_to(folder).parts if part not in ("recorded", "parties", POOL))
    return Recording(name or folder.resolve().name, tuple(releases), tuple(each for each in secrets if each.is_file()))


def _with_truth(recording: Recording) -> Recording | None:
    """Leave out, and name, what has no ground truth where other releases have it; None if nothing of a party has."""
    kept = tuple(each for each in recording.folders if each.with_suffix(SECRET) in recording.secrets)
    if not kept:
        _log.warning("%s is left out: nothing of it has the ground truth beside it.", recording.name)
        return None
    if left := [each.name for each in recording.folders if each not in kept]:
        _log.warning(
            "of %s, %s left out, without the ground truth beside it: %s%s.",
            *(recording.name, _releases(len(left)), ", ".join(left[:NAMED]), ", …" if len(left) > NAMED else ""),
        )
    return replace(recording, folders=kept)


def _releases(count: int) -> str:
    return "1 release is" if count == 1 else f"{count} releases are"


def joined_updates(folders: Sequence[Path], secrets: Sequence[Path]) -> tuple[UpdateRelease, UpdateSecret]:
    """Join updates of several rounds, each with the model that it is of, and their ground truths."""
    releases = [read_updates(folder) for folder in folders]
    truths = [read_update_secret(*each) for each in zip(secrets, folders, releases, strict=True)]
    _one_set([truth.private for truth in truths])
    rounds = [number for number, release in enumerate(releases) for _ in release.updates]
    release = together(releases) if len(releases) > 1 else releases[0]
    rows, mixed = (max(truth.sources.shape[axis] for truth in truths) for axis in (1, 2))
    sources = torch.cat([_filled(truth.sources, rows, mixed, -1) for truth in truths])
    weights = torch.cat([_filled(truth.weights, rows, mixed, 0) for truth in truths])
    again = _Joined(tuple(truth.again for truth in truths))
    return release, replace(truths[0], sources=sources, weights=weights, round_of=torch.tensor(rounds), again=again)


@dataclass(frozen=True)
class _Joined:
    """What stronger attackers know, of one round after another."""

    parts: tuple[Any, ...]

    def __call__(self, name: str) -> Any:
        found = [part(name) for part in self.parts]
        if name == "crafted":
            return None if any(each is None for each in found) else together(found)
        return tuple(each for part in found for each in part)


def joined_encodings(folders: Sequence[Path], secrets: Sequence[Path]) -> tuple[EncodedRelease, MixingSecret]:
    """Join encodings of several rounds, and their ground truths."""
    truths = [read_secret(path, release_digest(folder)) for path, folder in zip(secrets, folders, strict=True)]
    _one_set([truth.private for truth in truths])
    joined = {
        name: _cat([getattr(truth, name) for truth in truths]) for name in ("sources", "public_sources", "weights")
    }
    masks = {name: _cat([getattr(truth, name) for truth in truths]) for name in ("mask", "transforms")}
    return joined_releases(folders), replace(truths[0], **joined, **masks)


def joined_releases(folders: Sequence[Path]) -> EncodedRelease:
    """Join encodings of several rounds."""
    releases = [read_release(folder) for folder in folders]
    first = releases[0]
    if any(release.scheme != first.scheme for release in releases):
        raise BadInput("these encodings are of several schemes: audit each round by itself.")
    if len({len(release.encoded) for release in releases}) > 1:
        raise BadInput(CHANGED)
    encoded = replace(
        first.encoded,
        images=torch.cat([release.encoded.pixels() for release in releases]),
        labels=torch.cat([release.encoded.labels for release in releases]),
    )
    return replace(first, encoded=encoded, rounds=len(releases))


def _cat(parts: list[Any]) -> Any:
    return None if parts[0] is None else torch.cat(parts)


def _filled(tensor: Tensor, rows: int, mixed: int, value: int) -> Tensor:
    whole = torch.full((len(tensor), rows, mixed), value, dtype=tensor.dtype)
    whole[:, : tensor.shape[1], : tensor.shape[2]] = tensor
    return whole


def _one_set(sets: list[Samples]) -> None:
    if len({images_digest(each) for each in sets}) > 1:
        raise BadInput(CHANGED)
