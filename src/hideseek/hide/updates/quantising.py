"""Updates of few bits: signs alone, or levels drawn by chance."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records.allowed_update import AllowedUpdate
from hideseek.records.defence import Defence

MOST_BITS = 16
ROUNDING = 1e-4  # of a level, as float32 has it


@dataclass(frozen=True)
class Sign(Defence, mechanism="sign"):
    """Send the sign of every entry (Bernstein et al. 2018, signSGD), times the mean size of its tensor's entries.

    g̃ = sign(g) · mean |g|.
    """

    source: ClassVar = "Bernstein et al. 2018 (signSGD); the mean size, which it leaves out, is ours"

    def apply(self, update: dict[str, Tensor], chance: Randomness) -> dict[str, Tensor]:
        """Keep signs."""
        return {name: tensor.sign() * tensor.abs().mean() for name, tensor in update.items()}

    def evident(self, update: dict[str, Tensor]) -> bool:
        """Tell whether all entries of a tensor are of one size, or nothing."""
        sizes = [tensor.abs()[tensor != 0] for tensor in update.values()]
        return all(float(size.max() - size.min()) <= ROUNDING * float(size.max()) for size in sizes if size.numel())

    def before(self, after: AllowedUpdate) -> AllowedUpdate:
        """Tell a half-line by the sign of an entry, without zero; zeros stay zeros. Sizes are not told."""
        low, high = {}, {}
        for name, least in after.low.items():
            most, tiny = after.high[name], torch.finfo(least.dtype).tiny
            up, down = least > 0, most < 0
            unknown = (least < 0) & (most > 0)
            low[name] = torch.where(up, tiny, torch.where(down | unknown, -math.inf, least))
            high[name] = torch.where(down, -tiny, torch.where(up | unknown, math.inf, most))
        return replace(after, low=low, high=high, inside=0.0, scaled=True)


@dataclass(frozen=True)
class Quantised(Defence, mechanism="quantised"):
    """Round every entry to one of 2^bits − 1 levels, up or down by chance: its mean stays (Alistarh et al. 2017).

    g̃ = s ⌊g / s + u⌋ with u ~ U[0, 1). Levels are multiples of
    s = max |g| / (2^(bits − 1) − 1) of the tensor; with two bits these are −, 0 and +.
    """

    source: ClassVar = "Alistarh et al. 2017 (QSGD), with the largest entry as the scale"
    harder: ClassVar = {"bits": -1}

    bits: int = 8
    """Of an entry."""

    def __post_init__(self) -> None:
        if not 2 <= self.bits <= MOST_BITS:
            raise BadInput(f"bits must be between 2 and {MOST_BITS}, not {self.bits}.")

    def apply(self, update: dict[str, Tensor], chance: Randomness) -> dict[str, Tensor]:
        """Round by chance."""
        return {name: self._rounded(tensor, chance) for name, tensor in update.items()}

    def evident(self, update: dict[str, Tensor]) -> bool:
        """Tell whether all entries are multiples of a step, which the largest of them tells."""
        for tensor in update.values():
            levels = 2 ** (self.bits - 1) - 1
            if float(largest := tensor.abs().max()):
                steps = tensor.double() * (levels / largest.double())
                if float((steps - steps.round()).abs().max()) > ROUNDING * levels:
                    return False
        return True

    def before(self, after: AllowedUpdate) -> AllowedUpdate:
        """Tell the cell of an entry: it was less than a step from what was sent, and likelier the nearer.

        The step is told by the largest entry, which is always the highest level.
        """
        low, high = {}, {}
        for name, least in after.low.items():
            most = after.high[name]
            step = float(torch.maximum(least.abs(), most.abs()).max()) / (2 ** (self.bits - 1) - 1)
            low[name], high[name] = least - step, most + step
        return replace(after, low=low, high=high, inside=1.0)

    def _rounded(self, tensor: Tensor, chance: Randomness) -> Tensor:
        step = tensor.abs().max() / (2 ** (self.bits - 1) - 1)
        if float(step) == 0:
            return tensor
        dither = chance.uniforms(tensor.numel()).view(tensor.shape)
        return torch.floor(tensor / step + dither).to(tensor.dtype).mul(step)  # dither is of float64
