"""Updates of few bits: signs alone, or levels drawn by chance."""

from dataclasses import dataclass

import torch
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records.defence import Defence

MOST_BITS = 16


@dataclass(frozen=True)
class Sign(Defence, mechanism="sign"):
    """Send the sign of every entry (Bernstein et al. 2018, signSGD), times the mean size of its tensor's entries."""

    def apply(self, update: dict[str, Tensor], chance: Randomness) -> dict[str, Tensor]:
        """Keep signs."""
        return {name: tensor.sign() * tensor.abs().mean() for name, tensor in update.items()}


@dataclass(frozen=True)
class Quantised(Defence, mechanism="quantised"):
    """Round every entry to one of 2^bits − 1 levels, up or down by chance: its mean stays (Alistarh et al. 2017).

    Levels are multiples of max |g| / (2^(bits − 1) − 1) of the tensor; with two bits these are −, 0 and +.
    """

    bits: int = 8
    """Of an entry."""

    def __post_init__(self) -> None:
        if not 2 <= self.bits <= MOST_BITS:
            raise BadInput(f"bits must be between 2 and {MOST_BITS}, not {self.bits}.")

    def apply(self, update: dict[str, Tensor], chance: Randomness) -> dict[str, Tensor]:
        """Round by chance."""
        return {name: self._rounded(tensor, chance) for name, tensor in update.items()}

    def _rounded(self, tensor: Tensor, chance: Randomness) -> Tensor:
        step = tensor.abs().max() / (2 ** (self.bits - 1) - 1)
        if float(step) == 0:
            return tensor
        dither = chance.uniforms(tensor.numel()).view(tensor.shape)
        return torch.floor(tensor / step + dither).mul(step)
