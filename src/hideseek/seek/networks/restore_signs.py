"""Restoring the signs of masked rows by a network: a step that any attack can take first."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.progress import track
from hideseek.records import EncodedRelease, Reason, Refusal, Refused, Task
from hideseek.seek.networks.own_encodings import OwnEncodings, own_encodings, without_images
from hideseek.seek.networks.sign_network import Game, forward_work, hard_signs, objective, soft_signs
from hideseek.seek.work import CALL, TOUCH, largest
from hideseek.train.fit import fit
from hideseek.train.schedules import Cosine
from hideseek.train.training import AdamW, Training
from hideseek.train.worker import torch_seed

VALIDATED_ON = 512  # encodings that a trained network is validated on
BLOCK = 1 << 20  # pixels that are restored at a time
LEAST_ROWS = 1600  # a hundred batches to train on: below, a network has hardly begun
STEP = 330  # calls of a step of training: some hundred operations forwards, backwards, and of the optimiser


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
class RestoreSigns:
    """Restore the signs of masked rows by a network, trained on encodings that the attacker makes of his own images."""

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

    def __post_init__(self) -> None:
        if min(self.batch, self.width) < 1 or self.rows < self.batch:
            raise BadInput("batch and width must be 1 or more, and rows must fill a batch.")
        if not 0 < self.rate < math.inf or not 0 <= self.adversarial < math.inf:
            raise BadInput("rate must be positive and adversarial must not be negative, both finite.")

    def train(self, release: EncodedRelease, chance: Randomness) -> Demasker:
        """Train a network for a release's scheme, and validate it on encodings of images that it has not seen."""
        if (refusal := self.refuses(release)) is not None:
            raise Refused(refusal)
        encodings, held_back = own_encodings(release, self.rows, self.batch, chance)
        seed = int.from_bytes(chance.bytes(6), "little")
        with torch_seed(seed):
            game = Game(release.encoded.shape[0], self.width, self.adversarial)
        fit(game, encodings, objective, Training(1, self.batch, AdamW(self.rate), Cosine(warm=0.05)), seed=seed)
        return _validated(game.signs.eval(), replace(held_back, rows=max(VALIDATED_ON, self.batch)))

    def refuses(self, release: EncodedRelease) -> Refusal | None:
        """Refuse a scheme without a mask, and an attacker without images."""
        return without_images(release) if release.scheme.masked else Refusal(Reason.NOT_MASKED)

    def work(self, task: Task, restored: int) -> float:
        """Count the training, which goes through the network three times (backwards counts twice), and some rows."""
        forward = forward_work(task, self.width)
        encode = 2 * task.images_per_item * task.pixels * TOUCH
        training = self.rows * (3 * forward + encode + STEP * CALL / self.batch)
        return training + VALIDATED_ON * (forward + encode) + restored * forward

    def within(self, work: float, task: Task, restored: int) -> Self:
        """Train on fewer encodings."""

        def work_of(rows: int) -> float:
            return replace(self, rows=rows).work(task, restored)

        return replace(self, rows=largest(work_of, max(LEAST_ROWS, self.batch), self.rows, work))


def _validated(network: nn.Module, held_back: OwnEncodings) -> Demasker:
    """Count wrong signs, before and after, and the power that they have."""
    restore = Demasker(network)
    before, after, power, pixels, total = 0.0, 0.0, 0.0, 0, 0.0
    for encoded, mixed in held_back.epoch(0, 0):
        wrong = (restore(encoded) < 0) != (mixed < 0)
        before += float(((encoded < 0) != (mixed < 0)).sum())
        after += float(wrong.sum())
        power += float(mixed[wrong].square().sum())
        pixels, total = pixels + mixed.numel(), total + float(mixed.square().sum())
    return Demasker(network, before / pixels, after / pixels, power / max(total, 1e-30))
