"""Undoing InstaHide's mask: a network restores the signs of a mixed image from its absolute values."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records import Attack, EncodedRelease, Evidence, Masks, Refusal, Task
from hideseek.records.result import Harm
from hideseek.seek.networks.restore_signs import RestoreSigns
from hideseek.seek.run import check


@dataclass(frozen=True)
class Demask(Attack[EncodedRelease]):
    """Restore the signs of mixed pixels from their absolute values, by a network, and so guess the mask.

    The network gives the signs of the mixture z from |x̃| = |z|; then σ = sign z · sign x̃.
    InstaHide §5.3, "Demask using GAN", and §9, "Tramèr's attack": the network learns from mixtures that the attacker
    makes of his own images. In the paper, 50,000 of them at k = 6 leave a quarter of the signs wrong.
    Deviation: the paper takes a network that colours photographs, and does not say how it was trained. Here it is a
    small U-Net with a logit for every pixel and channel, trained by cross-entropy, which is least for the true
    probability of each sign. The adversary of a GAN is optional: it makes restored mixtures look true, which is not
    the same.
    """

    sees: ClassVar[type[EncodedRelease]] = EncodedRelease
    source: ClassVar[str] = "InstaHide §5.3"
    shows: ClassVar[Harm] = Harm.PARTS

    rows: int = RestoreSigns.rows
    """How many encodings the attacker makes to train on; each is seen once."""
    width: int = RestoreSigns.width
    """Channels of the U-Net's first level; a GPU can afford 32 or more, and more rows."""
    batch: int = RestoreSigns.batch
    """How many encodings make a step."""
    rate: float = RestoreSigns.rate
    """The learning rate."""
    adversarial: float = RestoreSigns.adversarial
    """The weight of the loss of a small discriminator, which tells restored patches from true ones; 0: none."""
    guesses: int = 1000
    """Guess the masks of so many rows, the first ones."""

    def __post_init__(self) -> None:
        if self.guesses < 1:
            raise BadInput(f"guesses must be 1 or more, not {self.guesses}.")
        _ = self.signs  # which refuses what a network cannot be

    @property
    def signs(self) -> RestoreSigns:
        """The step that other attacks take first."""
        return RestoreSigns(self.rows, self.width, self.batch, self.rate, self.adversarial)

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        """Train, and guess the masks of the first rows."""
        check(self, release)
        restore = self.signs.train(release, chance)
        encoded = release.encoded.pixels(slice(self.guesses))
        signs = torch.where((restore(encoded) < 0) == (encoded < 0), 1, -1).to(torch.int8)
        remarks = {
            "trained on": "public images" if release.own is None else "own images",
            "wrong signs before": restore.before,
            "wrong signs": restore.wrong,
            "wrong signs by power": restore.wrong_power,
        }
        return Evidence((Masks(torch.arange(len(signs)), signs),), remarks)

    def refuses(self, release: EncodedRelease) -> Refusal | None:
        """Refuse a scheme without a mask, and an attacker without images."""
        return self.signs.refuses(release)

    def work(self, task: Task) -> float:
        """Count the training, and the rows that are restored."""
        return self.signs.work(task, min(self.guesses, task.items))

    def within(self, work: float, task: Task) -> Self:
        """Train on fewer encodings."""
        return replace(self, rows=self.signs.within(work, task, min(self.guesses, task.items)).rows)
