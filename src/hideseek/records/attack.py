"""The contract of everything that seeks."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Generic, Self, TypeVar

from hideseek.records.release import Release

if TYPE_CHECKING:
    from hideseek.randomness import Randomness
    from hideseek.records.encoder import Encoder
    from hideseek.records.evidence import Evidence
    from hideseek.records.release import EncodedRelease
    from hideseek.records.samples import Samples

R = TypeVar("R", bound=Release)


@dataclass(frozen=True)
class Task:
    """How large a release is, known before it is made: what an attack's cost is told from."""

    rows: int
    """Encodings: private images times rounds."""
    images: int
    """Private images."""
    pixels: int
    """Numbers of an image: channels × height × width."""
    public: int = 0
    """Public images that the scheme mixes in, at the size of rows; 0 where it mixes none."""
    own: int = 0
    """Images of the attacker's own, to try things on."""
    together: int = 2
    """Images that meet in a row, private and public."""
    masked: bool = False
    """Whether signs are flipped at random."""
    channels: int = 1
    """Of an image: networks cost by its places, which are pixels over channels."""

    @classmethod
    def planned(
        cls,
        scheme: Encoder,
        private: Samples,
        public: Samples | None = None,
        own: Samples | None = None,
        rounds: int = 1,
    ) -> Self:
        """Tell how large the release of some images will be."""
        together, mixed_in = scheme.meets
        return cls(
            rows=len(private) * rounds,
            images=len(private),
            pixels=math.prod(private.shape),
            public=len(public) if public is not None and mixed_in else 0,
            own=0 if own is None else len(own),
            together=together + mixed_in,
            masked=scheme.masked,
            channels=private.shape[0],
        )

    @classmethod
    def of(cls, release: EncodedRelease) -> Self:
        """Tell how large a release is that is there."""
        one = cls.planned(release.scheme, release.encoded, release.public, release.own)
        return replace(one, images=one.rows // release.rounds)


class Attack(ABC, Generic[R]):
    """A frozen dataclass whose fields are its hyperparameters; `seek` runs it on what was shared, and on nothing else.

    An attack returns evidence or raises; it never sees a secret. What it needs beyond the release is a field of the
    release: `needs` names the fields that must not be None. The other methods are for those who plan: where it does
    not apply, what it costs, how it fits into less time. They may be left out.
    """

    sees: ClassVar[type[Release]]
    needs: ClassVar[tuple[str, ...]] = ()
    source: ClassVar[str] = ""
    """The paper in a few words, and what is ours."""

    @abstractmethod
    def seek(self, release: R, chance: Randomness) -> Evidence:
        """Run the attack; refuse, in one sentence, a release that it cannot be run on."""

    def refuses(self, release: R) -> str:
        """Say in one sentence why the attack does not apply to a release of this kind; nothing where it does."""
        return ""

    def effort(self, task: Task) -> float | None:
        """Expect so many seconds on the reference machine, two cores of a processor; None: unknown."""
        return None

    def within(self, seconds: float, task: Task) -> Self:
        """Give the attack with settings that fit into so many seconds of the reference machine.

        Never beyond the present settings, nor below the least that makes sense: then its effort is above `seconds`.
        """
        return self
