"""Attacks with a known outcome: one that knows the ground truth, one that knows nothing, and some that misbehave."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch

from clocks import VirtualClock
from hideseek.chance import Randomness
from hideseek.hide.encoders.laplace import WEAK, Laplace
from hideseek.records import Attack, EncodedRelease, Evidence, Reconstruction, Task
from hideseek.records.result import Harm
from hideseek.seek.work import largest


@dataclass(frozen=True)
class Look(Attack[EncodedRelease]):
    """Claim that the rows are the images: right for weak schemes, at chance on noise."""

    sees: ClassVar = EncodedRelease

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        rows = release.encoded.pixels()
        return Evidence((Reconstruction(rows, torch.arange(len(rows)), "items"),), {"rows": len(rows)})


@dataclass(frozen=True)
class Idle(Attack[EncodedRelease]):
    """Claim noise."""

    sees: ClassVar = EncodedRelease

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        shape = release.encoded.images.shape
        return Evidence((Reconstruction(chance.normals(*shape), torch.arange(len(release.encoded)), "items"),))


@dataclass(frozen=True)
class Known(Attack[EncodedRelease]):
    """Claim what it was told from outside, whatever the rows are: it finds images in noise, too."""

    sees: ClassVar = EncodedRelease
    needs: ClassVar = ("made_for",)
    images: ClassVar = torch.empty(0)

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        assert release.made_for is not None
        guesses = self.images[release.made_for]
        return Evidence((Reconstruction(guesses, torch.arange(len(guesses)), "items"),))


@dataclass(frozen=True)
class Misbehaving(Look):
    """Do something else on the audited release, known by its rounds and k = 3 in Mixup; prove itself like Look."""

    what: ClassVar[Callable[[], None]]
    rounds: int = 3

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        if release.rounds == self.rounds and release.scheme.images_per_row.private == 3:
            type(self).what()
        return super().seek(release, chance)


@dataclass(frozen=True)
class Slow(Misbehaving):
    """Take ten minutes of a clock that stands still otherwise."""

    clock: ClassVar = VirtualClock()
    what: ClassVar = lambda: Slow.clock.advance(600)


def _crash() -> None:
    raise RuntimeError("out of cheese")


def _interrupt() -> None:
    raise KeyboardInterrupt


@dataclass(frozen=True)
class Crashing(Misbehaving):
    """Fail in a way that nobody foresaw."""

    what: ClassVar = _crash


@dataclass(frozen=True)
class Interrupted(Misbehaving):
    """Be stopped by the person at the keyboard."""

    what: ClassVar = _interrupt


@dataclass(frozen=True)
class Counted(Attack[EncodedRelease]):
    """Work for some time on a clock that stands still otherwise, and find the images if the rows are enough.

    A row takes a second in proofs, on Laplace's weak case, and `seconds` elsewhere. It finds images in whatever is not
    the audited release, known by its noise and its rounds.
    """

    sees: ClassVar = EncodedRelease
    clock: ClassVar = VirtualClock()
    ran: ClassVar[list[tuple[str, int]]] = []
    audited: ClassVar = ((0.02, 3), (0.03, 3))  # α and rounds

    rows: int = 100
    enough: int = 1
    seconds: float = 1.0

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        assert isinstance(release.scheme, Laplace)
        audited = (release.scheme.alpha, release.rounds) in self.audited
        self.clock.advance(self.rows * (1.0 if release.scheme.alpha == WEAK else self.seconds))
        if audited:
            self.ran.append((type(self).__name__, self.rows))
        found = not audited or self.rows >= self.enough
        return (Look() if found else Idle()).seek(release, chance)

    def work(self, task: Task) -> float:
        return 1e12 * self.rows

    def within(self, work: float, task: Task) -> Self:
        return replace(self, rows=largest(lambda rows: 1e12 * rows, 1, self.rows, work))


@dataclass(frozen=True)
class Minor(Counted):
    """Be known to show less."""

    shows: ClassVar = Harm.LIKENESS


@dataclass(frozen=True)
class Informed(Counted):
    """Be given the mix."""

    needs: ClassVar = ("sources", "weights")
