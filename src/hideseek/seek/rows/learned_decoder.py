"""A network that sees the image in a row, trained on the attacker's own rows (Singularized Mixup, §5, Appendix F)."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.models import UNet
from hideseek.progress import track
from hideseek.records import Attack, EncodedRelease, Evidence, Reason, Reconstruction, Refusal, Task
from hideseek.seek.networks.own_encodings import OwnEncodings, own_encodings, without_images
from hideseek.seek.networks.sign_network import forward_work
from hideseek.seek.run import check
from hideseek.seek.systems.image_starts import pixel_limits
from hideseek.seek.systems.linear_system import not_linear
from hideseek.seek.work import CALL, TOUCH, attacked, largest
from hideseek.similarity import snr
from hideseek.train.fit import fit
from hideseek.train.loop import Objective
from hideseek.train.schedules import Cosine
from hideseek.train.training import AdamW, Training
from hideseek.train.worker import torch_seed

VALIDATED_ON = 512  # own rows that a trained network is tried on
BLOCK = 1 << 20  # pixels that are decoded at a time
LEAST_ROWS = 6400  # two hundred batches: below, a network has hardly begun
STEP = 330  # calls of a step of training


@dataclass(frozen=True)
class LearnedDecoder(Attack[EncodedRelease]):
    """Predict, from a single row, the image that it was made for, by a U-Net that is trained for this very scheme.

    The attacker encodes images of his own as `release.scheme` does, noise and all, and trains on pairs of a row and its
    first image: mean |x̂ − x| + 10⁻⁴ TV(x̂), Adam, batches of 32. Where a row tells nothing, such a network answers with
    the median image, at about 0 dB of images of mean zero.

    Deviation: rows are divided by their root mean square, or the noise of a small τ would saturate the network; the
    rate falls to zero along a cosine, and each encoding is made when it is needed and seen once, in place of 30 epochs
    over fixed ones. The paper's width is 48, for a GPU.
    """

    sees: ClassVar[type[EncodedRelease]] = EncodedRelease
    source: ClassVar[str] = "Singularized Mixup §5, Appendix F"

    rows: int = 50_000
    """How many own encodings it is trained on; each is seen once."""
    width: int = 16
    """Channels of the U-Net's first level; the paper has 48."""
    batch: int = 32
    """How many encodings make a step."""
    rate: float = 1e-3
    """The learning rate."""
    total_variation: float = 1e-4
    """The weight of the penalty on differences between neighbouring pixels."""
    guesses: int | None = 2000
    """How many rows are decoded, the first ones; None: all."""

    def __post_init__(self) -> None:
        if min(self.batch, self.width) < 1 or self.rows < self.batch:
            raise BadInput("batch and width must be 1 or more, and rows must fill a batch.")
        if not 0 < self.rate < math.inf or not 0 <= self.total_variation < math.inf:
            raise BadInput("rate must be positive and total_variation must not be negative, both finite.")
        if self.guesses is not None and self.guesses < 1:
            raise BadInput(f"guesses must be 1 or more, not {self.guesses}.")

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        """Train on own encodings, and decode the rows."""
        check(self, release)
        encodings, held_back = (
            replace(each, wanted="images") for each in own_encodings(release, self.rows, self.batch, chance)
        )
        count = attacked(self.guesses, release.size())
        rows = release.encoded.pixels(slice(0, count))
        scale = float(rows.square().mean().sqrt()) or 1.0
        seed = int.from_bytes(chance.bytes(6), "little")
        with torch_seed(seed):
            network = UNet(release.encoded.shape[0], self.width)
        training = Training(1, self.batch, AdamW(self.rate, decay=0.0), Cosine(warm=0.05))
        fit(network, encodings, objective(scale, self.total_variation), training, seed=seed)
        limits = pixel_limits(release.encoded.normalisation, release.encoded.shape)

        def decode(some: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
            found = _decoded(network.eval(), some / scale)
            return found if limits is None else found.clamp(*limits)

        guesses = decode(rows)
        remarks = {"trained on": "public images" if release.own is None else "own images"}
        tried = _tried(decode, replace(held_back, rows=max(VALIDATED_ON, self.batch)))
        return Evidence((Reconstruction(guesses, torch.arange(count), "items"),), remarks | tried)

    def refuses(self, release: EncodedRelease) -> Refusal | None:
        """Refuse masks, moved images and features, and an attacker without images."""
        if (refusal := not_linear(release)) is not None:
            return refusal
        if max(release.encoded.shape[1:]) == 1:
            return Refusal(Reason.NO_NEIGHBOURS)
        return without_images(release)

    def work(self, task: Task) -> float:
        """Count the training, which goes through the network three times (backwards counts twice), and the rows."""
        forward = forward_work(task, self.width)
        encode = 2 * task.images_per_item * task.pixels * TOUCH
        training = self.rows * (3 * forward + encode + STEP * CALL / self.batch)
        return training + VALIDATED_ON * (forward + encode) + attacked(self.guesses, task) * forward

    def within(self, work: float, task: Task) -> Self:
        """Train on fewer encodings."""

        def work_of(rows: int) -> float:
            return replace(self, rows=rows).work(task)

        return replace(self, rows=largest(work_of, max(LEAST_ROWS, self.batch), self.rows, work))


def objective(scale: float, total_variation: float) -> Objective:
    """Give the function that scores a network on rows and their images: mean |x̂ − x|, and a share of TV(x̂)."""

    def scored(network: nn.Module, batch: tuple[Tensor, ...]) -> tuple[Tensor, dict[str, Tensor]]:
        rows, images = batch
        guess = network(rows / scale).float()
        error = (guess - images).abs().mean()
        return error + total_variation * variation(guess), {"error": error.detach()}

    return scored


def variation(images: Float[Tensor, "n c h w"]) -> Float[Tensor, ""]:
    """Give the anisotropic total variation: the mean absolute difference of neighbours, across and down.

    >>> float(variation(torch.tensor([[[[0.0, 1.0], [2.0, 5.0]]]])))
    5.0
    """
    parts = [each.abs().mean() for each in (images.diff(dim=2), images.diff(dim=3)) if each.numel()]
    return sum(parts, images.new_zeros(()))


def _decoded(network: nn.Module, rows: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
    """Work in blocks, on the network's device."""
    device, size = next(network.parameters()).device, max(1, BLOCK // math.prod(rows.shape[1:]))
    with torch.inference_mode():
        parts = [network(part.to(device)).float().cpu() for part in track(list(rows.split(size)), "decoding")]
    return torch.cat(parts).clone()


def _tried(decode: Callable[[Tensor], Tensor], held_back: OwnEncodings) -> dict[str, float]:
    """Tell how well own images are decoded that it was not trained on, and what their mean image would score."""
    rows, images = (torch.cat(parts) for parts in zip(*held_back.epoch(0, 0), strict=True))
    middle = images.mean(0, keepdim=True).expand_as(images)
    return {
        "SNR in dB on own images, left out": round(float(snr(images, decode(rows)).mean()), 3),
        "SNR in dB of their mean image": round(float(snr(images, middle).mean()), 3),
    }
