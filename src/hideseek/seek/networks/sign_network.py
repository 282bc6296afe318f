"""The network that restores signs, and the discriminator that may train it."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from hideseek.models import UNet
from hideseek.records import Task
from hideseek.seek.work import TOUCH

LEVELS = 3  # of the U-Net below its first


class SignNetwork(nn.Module):
    """Give the logit of a plus for every pixel and channel of a mixture z, from |z| at unit mean square, by a U-Net."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.network = UNet(channels, width)

    def forward(self, sizes: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
        """Give the logits."""
        logits: Tensor = self.network(_unit(sizes))
        return logits.float()


class Game(nn.Module):
    """The network and a discriminator as one, so that one loop trains both.

    The gradient is reversed between them (Ganin and Lempitsky 2015): where the discriminator learns to tell restored
    mixtures from true ones, the network learns to mislead it, with the weight `adversarial`. At 0 there is none.
    """

    def __init__(self, channels: int, width: int, adversarial: float) -> None:
        super().__init__()
        self.signs, self.adversarial = SignNetwork(channels, width), adversarial
        self.discriminator = _discriminator(channels, width) if adversarial else None

    def forward(self, mixed: Float[Tensor, "n c h w"]) -> tuple[Tensor, ...]:
        """Give the logits of the signs, and the discriminator's, if there is one, of true and of restored mixtures."""
        logits = self.signs(mixed.abs())
        if self.discriminator is None:
            return (logits,)
        true, soft = _unit(mixed), soft_signs(logits)
        signs = soft + (hard_signs(logits) - soft).detach()  # hard ones, with the gradient of soft ones
        restored = true.abs() * signs
        restored = (1 + self.adversarial) * restored.detach() - self.adversarial * restored  # the same, reversed
        return logits, self.discriminator(true), self.discriminator(restored)


def objective(network: nn.Module, batch: tuple[Tensor, ...]) -> tuple[Tensor, dict[str, Tensor]]:
    """Give the cross-entropy of the signs of mixtures, plus that of the discriminator if there is one."""
    _, mixed = batch
    logits, *told = network(mixed)
    plus = (mixed >= 0).to(logits)
    loss = functional.binary_cross_entropy_with_logits(logits, plus)
    for verdicts, wanted in zip(told, (torch.ones_like, torch.zeros_like), strict=False):
        loss = loss + functional.binary_cross_entropy_with_logits(verdicts, wanted(verdicts))
    return loss, {"accuracy": ((logits >= 0) == (mixed >= 0)).float().mean()}


def forward_work(task: Task, width: int) -> float:
    """Count what the U-Net does with one image: multiplications of its convolutions, and the maps between them.

    Level l has B·2^l channels at one place in 4^l. Above the lowest, the way up has maps of the level below enlarged
    (2×2), put beside the level's own, and convolved twice.
    """
    side = math.ceil(math.sqrt(task.pixels / task.channels) / (1 << LEVELS)) << LEVELS
    multiplications, maps = 0.0, 0.0
    for level in range(LEVELS + 1):
        wide = width << level
        before = wide // 2 if level else task.channels
        share = 4.0**-level
        multiplications += share * 9 * (before * wide + wide * wide)
        maps += share * 4 * wide
        if level < LEVELS:
            multiplications += share * (2 * wide * wide + 9 * (2 * wide * wide + wide * wide))
            maps += share * 7 * wide
    multiplications += task.channels * width
    return side * side * (multiplications + maps * TOUCH)


def hard_signs(logits: Tensor) -> Tensor:
    """Give the likelier sign, −1 or 1."""
    return torch.where(logits < 0, -1.0, 1.0)


def soft_signs(logits: Tensor) -> Tensor:
    """Give the mean of the sign, 2p − 1 with p = 1 / (1 + e^−logit).

    >>> soft_signs(torch.tensor([0.0, 1.0986]))
    tensor([0.0000, 0.5000])
    """
    return torch.tanh(logits / 2)


def _unit(images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
    """Scale every image to a mean square of 1."""
    return images / images.square().mean((1, 2, 3), keepdim=True).sqrt().clamp_min(1e-30)


def _discriminator(channels: int, width: int) -> nn.Sequential:
    """Build three convolutions, with a verdict on every patch of 15×15 pixels."""
    return nn.Sequential(
        nn.Conv2d(channels, 2 * width, 3, stride=2, padding=1),
        nn.LeakyReLU(0.2),
        nn.Conv2d(2 * width, 4 * width, 3, stride=2, padding=1),
        nn.LeakyReLU(0.2),
        nn.Conv2d(4 * width, 1, 3, padding=1),
    )
