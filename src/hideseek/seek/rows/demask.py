"""Undoing InstaHide's mask: a network restores the signs of a mixed image from its absolute values."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.progress import track
from hideseek.records import Attack, EncodedRelease, Evidence, Masks, Task
from hideseek.seek.costs import largest
from hideseek.seek.networks.own_encodings import OwnEncodings, own_encodings, without_images
from hideseek.seek.networks.sign_network import Game, hard_signs, objective, soft_signs
from hideseek.seek.run import check
from hideseek.train.fit import fit
from hideseek.train.training import AdamW, Cosine, Training
from hideseek.train.worker import torch_seed

TRIED = 512  # encodings that a network is tried on
BLOCK = 1 << 20  # pixels that are restored at a time
LEAST_ROWS = 1600  # a hundred batches to train on: below, a network has hardly begun
TRAINED = 3e-8  # seconds of a place in training, at a width of 1
RESTORED = 1e-8  # seconds of a place afterwards
STEP = 3e-3  # seconds of a step, however small
MULTIPLE = 8  # that the network continues a side to


@dataclass(frozen=True)
class Demasker:
    """A trained network that restores signs, and how it did on encodings of images that it was not trained on."""

    network: nn.Module
    before: float = 0.5
    """The share of signs that were wrong under the mask."""
    wrong: float = 0.5
    """The share of signs that are wrong after it."""
    wrong_power: float = 0.5
    """The share of Σ z² that has the wrong sign after it: small values matter little."""

    def __call__(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
        """Give the mixtures ẑ of encodings x̃: |ẑ| = |x̃|, each pixel with its likelier sign."""
        return self._restored(images, hard_signs)

    def expected(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
        """Give the mean of z given |x̃|, which errs least: (2p − 1) |x̃|, with p the probability of a plus."""
        return self._restored(images, soft_signs)

    def _restored(self, images: Tensor, signs: Callable[[Tensor], Tensor]) -> Tensor:
        """Work in blocks, on the network's device."""
        device = next(self.network.parameters()).device
        size = max(1, BLOCK // math.prod(images.shape[1:]))
        restored = torch.empty_like(images)  # not in inference mode, so that it may be differentiated later
        for start in track(range(0, len(images), size), "restoring signs"):
            sizes = images[start : start + size].to(device).abs()
            with torch.inference_mode():
                part = sizes * signs(self.network(sizes))
            restored[start : start + size] = part.to(restored.device)
        return restored


@dataclass(frozen=True)
class Demask(Attack[EncodedRelease]):
    """Restore the signs of the mixture z from |x̃| = |z| by a network, and so guess the mask: σ = sign z · sign x̃.

    InstaHide §5.3, "Demask using GAN", and §9, "Tramèr's attack": the network learns from mixtures that the attacker
    makes of his own images. In the paper, 50,000 of them at k = 6 leave a quarter of the signs wrong.
    Deviation: the paper takes a network that colours photographs, and does not say how it was trained. Here it is a
    small U-Net with a logit for every pixel and channel, trained by cross-entropy, which is least for the true
    probability of each sign. The adversary of a GAN is optional: it makes restored mixtures look true, which is not
    the same.
    """

    sees: ClassVar[type[EncodedRelease]] = EncodedRelease
    source: ClassVar[str] = "InstaHide §5.3"

    rows: int = 50_000
    """How many encodings the attacker makes to train on; each is seen once."""
    width: int = 8
    """Channels of the U-Net's first level; a GPU can afford 32 or more, and more rows."""
    batch: int = 16
    """How many encodings make a step."""
    rate: float = 2e-3
    """The learning rate."""
    adversarial: float = 0.0
    """The weight of the loss of a small discriminator, which tells restored patches from true ones; 0: none."""
    guesses: int = 1000
    """Guess the masks of so many rows, the first ones."""

    def __post_init__(self) -> None:
        if min(self.batch, self.width, self.guesses) < 1 or self.rows < self.batch:
            raise BadInput("batch, width and guesses must be 1 or more, and rows must fill a batch.")
        if not 0 < self.rate < math.inf or not 0 <= self.adversarial < math.inf:
            raise BadInput("rate must be positive and adversarial must not be negative, both finite.")

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        """Train, and guess the masks of the first rows."""
        restore = self.train(release, chance)
        encoded = release.encoded.pixels(slice(self.guesses))
        signs = torch.where((restore(encoded) < 0) == (encoded < 0), 1, -1).to(torch.int8)
        remarks = {
            "trained on": "public images" if release.own is None else "own images",
            "wrong signs before": restore.before,
            "wrong signs": restore.wrong,
            "wrong signs by power": restore.wrong_power,
        }
        return Evidence((Masks(torch.arange(len(signs)), signs),), remarks)

    def train(self, release: EncodedRelease, chance: Randomness) -> Demasker:
        """Train a network for a release's scheme, and try it on encodings of images that it has not seen."""
        check(self, release)
        encodings, trial = own_encodings(release, self.rows, self.batch, chance)
        seed = int.from_bytes(chance.bytes(6), "little")
        with torch_seed(seed):
            game = Game(release.encoded.shape[0], self.width, self.adversarial)
        fit(game, encodings, objective, Training(1, self.batch, AdamW(self.rate), Cosine(warm=0.05)), seed=seed)
        return _tried(game.signs.eval(), replace(trial, rows=max(TRIED, self.batch)))

    def refuses(self, release: EncodedRelease) -> str:
        """Refuse a scheme without a mask, and an attacker without images."""
        if not release.scheme.masked:
            return "this scheme flips no signs, so there is no mask to undo: seek without demasking."
        return without_images(release)

    def effort(self, task: Task) -> float:
        """Count the places that are trained on, and those that are restored."""
        side = MULTIPLE * math.ceil(math.sqrt(task.pixels / task.channels) / MULTIPLE)
        places = side * side
        training = self.rows * (places * TRAINED * math.pow(self.width, 1.5) + STEP / self.batch)
        return training + (TRIED + min(self.guesses, task.items)) * places * RESTORED * math.pow(self.width, 1.5)

    def within(self, seconds: float, task: Task) -> Self:
        """Train on fewer encodings."""
        least = max(LEAST_ROWS, self.batch)
        return largest(lambda rows: replace(self, rows=rows), least, self.rows, seconds, task)


def _tried(network: nn.Module, trial: OwnEncodings) -> Demasker:
    """Count wrong signs, before and after, and the power that they have."""
    restore = Demasker(network)
    before, after, power, pixels, total = 0.0, 0.0, 0.0, 0, 0.0
    for encoded, mixed in trial.epoch(0, 0):
        wrong = (restore(encoded) < 0) != (mixed < 0)
        before += float(((encoded < 0) != (mixed < 0)).sum())
        after += float(wrong.sum())
        power += float(mixed[wrong].square().sum())
        pixels, total = pixels + mixed.numel(), total + float(mixed.square().sum())
    return Demasker(network, before / pixels, after / pixels, power / max(total, 1e-30))
