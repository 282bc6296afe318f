"""A release that somebody else made, as a scheme to audit: it is attacked as it was received."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from blake3 import blake3

from hideseek.chance import Randomness
from hideseek.data.digests import images_digest, labels_digest
from hideseek.files import new_file, new_folder
from hideseek.hide import InstaHide, RecipeEncoder
from hideseek.hide.encoders.wrapping import Wrapping
from hideseek.hide.mixing.buffers import Buffer
from hideseek.hide.mixing.recipe import Recipe
from hideseek.records import Attack, EncodedRelease, Known, Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.records.received_secret import ReceivedSecret


@dataclass(frozen=True)
class ReceivedEncodings(Wrapping, mechanism="received"):
    """Encodings from elsewhere: read as they were received, and hidden anew where a trial needs more."""

    scheme: RecipeEncoder = field(default_factory=InstaHide)
    release: EncodedRelease | None = field(default=None, compare=False, repr=False)
    truth: ReceivedSecret | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, release: EncodedRelease, private: Samples, *, known: bool) -> Self:
        """Give the scheme of a release; `private` are its images, or others in their place."""
        assert isinstance(release.scheme, RecipeEncoder)  # noqa: S101 (all that mix)
        truth = ReceivedSecret(private, rows=len(release.encoded), signs=release.scheme.masked, known=known)
        return cls(release.scheme, release, truth)

    def recipe(self, private: Samples, public: Samples | None, chance: Randomness) -> Recipe:
        """Hide as the scheme does, where a trial needs more."""
        return self.scheme.recipe(private, public, chance)

    def hide(
        self, private: Samples, public: Samples | None, chance: Randomness, rounds: int = 1, out: Buffer | None = None
    ) -> tuple[EncodedRelease, MixingSecret]:
        """Hide a few images, to see which attacks apply; who was not told the public images does not see them."""
        release, secret = super().hide(private, public, chance, rounds, out)
        unknown = self.release is not None and self.release.public is None
        return (replace(release, public=None) if unknown else release), secret

    def write(
        self, private: Samples, public: Samples | None, chance: Randomness, folder: Path, secret: Path, rounds: int = 1
    ) -> None:
        """Note that it is there; it is read from where it was received."""
        with new_folder(folder):
            pass
        with new_file(secret, mode=0o600) as file:
            file.write(self.fingerprint().encode())

    def read(self, folder: Path, secret: Path, public: Samples | None) -> Any:
        """Give it, and what is known of its images."""
        return self.release, self.truth

    def fingerprint(self) -> str:
        """Tell releases apart."""
        assert self.release is not None  # noqa: S101 (`of`)
        encoded = self.release.encoded
        return blake3(f"{images_digest(encoded)} {labels_digest(encoded)}".encode()).hexdigest()

    def known(self, rounds: int, *, labelled: bool, of_bytes: bool) -> tuple[Known, ...]:
        """Say what is known of the scheme; nobody knows here whether its images were bytes."""
        return self.scheme.known(rounds, labelled=labelled, of_bytes=False)

    def summary(self) -> str:
        """Say what the scheme does."""
        return self.scheme.summary()


def applicable(attack: Attack[Any], *, known: bool) -> bool:
    """Tell whether an attacker without the keys can run an attack; candidates take the private images."""
    given = {"candidates"} if known else set()
    return set(attack.needs) & set(attack.sees.withheld) <= given
