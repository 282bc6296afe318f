"""Attacks with a known outcome: one that knows the ground truth, one that knows nothing, and some that misbehave."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch

from clocks import VirtualClock
from hideseek.chance import Randomness
from hideseek.records import Attack, EncodedRelease, Evidence, Reconstruction


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
    """Do something else on the audited release, known by its rounds; prove itself like Look."""

    what: ClassVar[Callable[[], None]]
    rounds: int = 3

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        if release.rounds == self.rounds:
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
