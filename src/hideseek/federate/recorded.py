"""What a party sent, as schemes to audit: written and read as it was recorded."""

import json
import shutil
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Self

from blake3 import blake3

from hideseek.chance import Randomness
from hideseek.federate.recordings import DESCRIPTION, Recording, joined_encodings, joined_updates
from hideseek.files import new_file, new_folder, read_bytes
from hideseek.hide import InstaHide, RecipeEncoder
from hideseek.hide.encoders.wrapping import Wrapping
from hideseek.hide.mixing.recipe import Recipe
from hideseek.hide.updates import ShareUpdates
from hideseek.records import EncodedRelease, Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.records.update_release import UpdateRelease
from hideseek.records.update_secret import UpdateSecret


@dataclass(frozen=True)
class RecordedUpdates(ShareUpdates):
    """Updates that a party sent: written and read as they were recorded, and hidden anew where a trial needs more."""

    recording: Recording | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, recording: Recording) -> tuple[Self, Samples]:
        """Give the scheme of a recording, and the private images."""
        release, secret = joined_updates(recording.folders, recording.secrets)
        plain = release.scheme
        assert isinstance(plain, ShareUpdates)  # noqa: S101 (all that is recorded)
        given = {each.name: getattr(plain, each.name) for each in fields(ShareUpdates)}
        return cls(**{**given, "start": release.models[0]}, recording=recording), secret.private

    def write(
        self, private: Samples, public: Samples | None, chance: Randomness, folder: Path, secret: Path, rounds: int = 1
    ) -> None:
        """Copy what was recorded."""
        assert self.recording is not None  # noqa: S101 (`of`)
        _copied(self.recording, folder, secret)

    def read(self, folder: Path, secret: Path, public: Samples | None) -> tuple[UpdateRelease, UpdateSecret]:
        """Read it."""
        secrets = [Path(each) for each in json.loads(secret.read_text("utf-8"))]
        return joined_updates(sorted(path.parent for path in folder.rglob(DESCRIPTION)), secrets)

    def fingerprint(self) -> str:
        """Tell recordings apart."""
        assert self.recording is not None  # noqa: S101 (`of`)
        return _fingerprint(self.recording)


@dataclass(frozen=True)
class RecordedEncodings(Wrapping, mechanism="recorded"):
    """Encodings that a party sent: written and read as they were recorded."""

    scheme: RecipeEncoder = field(default_factory=InstaHide)
    recording: Recording | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, recording: Recording) -> tuple[Self, Samples]:
        """Give the scheme of a recording, and the private images."""
        release, secret = joined_encodings(recording.folders, recording.secrets)
        assert isinstance(release.scheme, RecipeEncoder)  # noqa: S101 (all that mix)
        return cls(release.scheme, recording), secret.private

    def recipe(self, private: Samples, public: Samples | None, chance: Randomness) -> Recipe:
        """Hide as the scheme does, where a trial needs more."""
        return self.scheme.recipe(private, public, chance)

    def write(
        self, private: Samples, public: Samples | None, chance: Randomness, folder: Path, secret: Path, rounds: int = 1
    ) -> None:
        """Copy what was recorded."""
        assert self.recording is not None  # noqa: S101 (`of`)
        _copied(self.recording, folder, secret)

    def read(self, folder: Path, secret: Path, public: Samples | None) -> tuple[EncodedRelease, MixingSecret]:
        """Read it."""
        secrets = [Path(each) for each in json.loads(secret.read_text("utf-8"))]
        release, truth = joined_encodings(sorted(path.parent for path in folder.rglob(DESCRIPTION)), secrets)
        return replace(release, public=public), truth

    def fingerprint(self) -> str:
        """Tell recordings apart."""
        assert self.recording is not None  # noqa: S101 (`of`)
        return _fingerprint(self.recording)


def _copied(recording: Recording, folder: Path, secret: Path) -> None:
    with new_folder(folder) as copy:
        for number, each in enumerate(recording.folders):
            shutil.copytree(each, copy / f"{number:05d}")
    with new_file(secret, mode=0o600) as file:
        file.write(json.dumps([str(each.resolve()) for each in recording.secrets]).encode())


def _fingerprint(recording: Recording) -> str:
    total = blake3()
    for folder in recording.folders:
        for path in sorted(folder.iterdir()):
            total.update(read_bytes(path))
    return total.hexdigest()
