"""The contract of every way to share images: what it does, and what is known of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from hideseek.records.spent import Spent
from hideseek.records.task import Task, release_bytes

if TYPE_CHECKING:
    from hideseek.chance import Randomness
    from hideseek.records.release import Release
    from hideseek.records.samples import Samples
    from hideseek.records.secret import Secret

HIDING = 1500  # multiplications a pixel of a row


@dataclass(frozen=True)
class Known:
    """What is known of a configuration without running anything."""

    statement: str
    citation: str


@dataclass(frozen=True)
class Effective:
    """A parameter as it was stated, and what it comes to in what is shared."""

    name: str
    stated: float
    effective: float
    meaning: str


@dataclass(frozen=True)
class Bound:
    """What is proved of a scheme: a quantity is at most this; and what the theorem does not say."""

    theorem: str
    quantity: str
    value: float
    limits: str


class ChangeKind(StrEnum):
    """What may be changed where a scheme is broken."""

    FEWER_ROUNDS = "fewer-rounds"
    MORE_NOISE = "more-noise"
    COARSER = "coarser"
    OTHER_SCHEME = "other-scheme"
    LARGER_BATCH = "larger-batch"
    MORE_LOCAL_STEPS = "more-local-steps"
    STRONGER_DEFENCE = "stronger-defence"
    DEFENCE = "defence"
    LEAVE_OUT = "leave-out"


@dataclass(frozen=True)
class Change:
    """A change of a scheme: the parameter, its value before and after, and what the change costs."""

    kind: ChangeKind
    parameter: str
    before: float | None
    after: float
    scheme: str = ""
    """The other scheme, by its name."""
    cost: str = ""
    """What the change is known to cost, with its source; empty: nothing is known."""


@dataclass(frozen=True)
class Trial:
    """How large the weak case of an attack's proof is at most; audits may have fewer images and rounds."""

    images: int = 48
    rounds: int = 20
    """However many are audited: whoever needs more of them is not believed."""
    noise_rounds: int = 10
    """Of noise, however few are audited: items enough to err on, and to time the attack by."""


class Encoder(ABC):
    """A frozen dataclass whose fields are its hyperparameters; `hide` runs it.

    Every call draws fresh keys: to re-encode for the next epoch is to call again. The file of a mechanism also holds
    what is known of it: weak cases that a working attack must break, published facts, stronger settings, and the
    effective values of its parameters. A mechanism has a name, in files and reports; a scheme is a value of it.
    """

    mechanisms: ClassVar[dict[str, type[Encoder]]] = {}
    """Every mechanism by its name."""
    mechanism: ClassVar[str]
    source: ClassVar[str] = ""
    """The paper in a few words, and what is ours."""
    harder: ClassVar[dict[str, int]] = {}
    """Parameters that hide more the larger (1) or the smaller (−1) they are."""

    def __init_subclass__(cls, mechanism: str = "") -> None:
        """Take note of a mechanism that has a name, which no other may have."""
        if mechanism:
            if cls.mechanisms.get(mechanism, cls).__qualname__ != cls.__qualname__:
                raise TypeError(f"there is a mechanism called {mechanism!r} already.")
            cls.mechanism = mechanism
            cls.mechanisms[mechanism] = cls

    @property
    def mixes_public(self) -> bool:
        """Tell whether public images are mixed in, and must be given."""
        return False

    @abstractmethod
    def hide(
        self, private: Samples, public: Samples | None, chance: Randomness, rounds: int = 1
    ) -> tuple[Release, Secret]:
        """Share every private image once a round."""

    @abstractmethod
    def write(
        self,
        private: Samples,
        public: Samples | None,
        chance: Randomness,
        folder: Path,
        secret: Path,
        rounds: int = 1,
    ) -> None:
        """Do as `hide` does, into a folder for the release and a file for the secret; whole or not at all."""

    @abstractmethod
    def read(self, folder: Path, secret: Path, public: Samples | None) -> tuple[Release, Secret]:
        """Read what `write` wrote, after checking it."""

    @abstractmethod
    def planned_size(
        self, private: Samples, public: Samples | None = None, own: Samples | None = None, rounds: int = 1
    ) -> Task:
        """Tell how large the release of some images will be."""

    def with_estimates(self, private: Samples, public: Samples | None, chance: Randomness) -> Encoder:
        """Give the encoder with all filled in that it estimates from the private images: the scheme of its releases."""
        return self

    @property
    def weak_kind(self) -> str:
        """Name the weak cases: schemes with the same name share them."""
        return f"{self.mechanism}-{'public' if self.mixes_public else 'private'}"

    def summary(self) -> str:
        """Say in a sentence what it does."""
        return (type(self).__doc__ or "").partition("\n")[0]

    def fingerprint(self) -> str:
        """Give a digest of what belongs to it besides its parameters, such as the weights of a model."""
        return ""

    def release_bytes(self, private: Samples, rounds: int) -> int:
        """Tell how many bytes the release of some images has, at least."""
        return release_bytes(len(private), rounds, private.shape, private.labels.shape[1])

    def hiding_work(self, private: Samples, rounds: int) -> float:
        """Count the multiplications of hiding some images: computing, hashing, writing, reading."""
        return HIDING * rounds * private.images.numel()

    def trial(self, private: Samples) -> Trial:
        """Tell how large a weak case is made of some images."""
        return Trial()

    def weak_size(self, private: Samples, public: Samples | None, own: Samples | None, rounds: int) -> Task:
        """Tell how large the release of a weak case of some images is, about."""
        return self.planned_size(private, public, own, rounds)

    @abstractmethod
    def weak_cases(self, images: Samples, chance: Randomness) -> Iterator[Encoder]:
        """Give schemes like this one that hide nothing from an attack that works, one after another."""

    def known(self, rounds: int, *, labelled: bool, of_bytes: bool) -> tuple[Known, ...]:
        """Say what is known of this configuration, with citations; labels that are shared, and bytes, tell more."""
        return ()

    def stronger(self, rounds: int) -> Iterator[tuple[Change, Encoder, int]]:
        """Give what could be changed: the change, the scheme after it, and its rounds."""
        yield from ()

    def effective(self, release: Release, secret: Secret, chance: Randomness) -> tuple[Effective, ...]:
        """Measure what the stated parameters come to in a release of this scheme."""
        return ()

    def spends(self, images: int, rounds: int) -> Spent:
        """Tell what all rounds of a release of so many images spend of any one of them; by default nothing is proved.

        It is what a ledger adds up: an encoder that overrides it promises that what it states is an upper bound, for
        whoever sees the whole release, labels included, and knows all its parameters.
        """
        return Spent()

    def bounds(self, effective: tuple[Effective, ...]) -> tuple[Bound, ...]:
        """Say what is proved of the scheme, given its effective values; without them, what its parameters prove."""
        return ()
