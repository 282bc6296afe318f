"""Clipped updates under Gaussian noise: the one defence of updates with a proof."""

import math
import warnings
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records.allowed_update import AllowedUpdate
from hideseek.records.defence import Defence
from hideseek.records.encoder import Known
from hideseek.records.spent import Spent

DELTA = 1e-5
ROUNDING = 1e-5  # of a clipped norm in float32
SURE = 6.0  # deviations of the norm of noise


@dataclass(frozen=True)
class GradientNoise(Defence, mechanism="gradient-noise"):
    """Clip the whole update to ‖g‖₂ ≤ clip, and add N(0, (noise · clip)²) to every entry.

    What is protected is one update, whatever is in it (added or left out): a Gaussian mechanism of sensitivity `clip`,
    once a round. Clipping every example, as DP-SGD does, protects single images with less noise, but is no function of
    the update alone; `hideseek learn` has it.
    """

    source: ClassVar = "Abadi et al. 2016, for whole updates"
    harder: ClassVar = {"noise": 1}

    clip: float = 1.0
    """The largest norm of an update."""
    noise: float = 1.0
    """The deviation of the noise of an entry, in clips."""

    def __post_init__(self) -> None:
        if not 0 < self.clip < math.inf or not 0 <= self.noise < math.inf:
            raise BadInput("clip must be above 0 and noise 0 or more, both finite.")

    def apply(self, update: dict[str, Tensor], chance: Randomness) -> dict[str, Tensor]:
        """Clip, and add noise."""
        norm = float(torch.stack([tensor.double().square().sum() for tensor in update.values()]).sum().sqrt())
        factor = min(1.0, self.clip / max(norm, 1e-30))
        scale = self.noise * self.clip
        return {
            name: tensor * factor + (chance.normals(tensor.numel()).view(tensor.shape) * scale if scale else 0.0)
            for name, tensor in update.items()
        }

    def evident(self, update: dict[str, Tensor]) -> bool:
        """Compare the norm with that of the noise: ‖g + n‖² is σ² d (1 ± √(2/d)) and what g adds, at most clip²."""
        square = float(sum(tensor.double().square().sum() for tensor in update.values()))
        entries = sum(tensor.numel() for tensor in update.values())
        noise = (self.noise * self.clip) ** 2 * entries
        least = noise * (1 - SURE * math.sqrt(2 / max(1, entries)))
        cross = 2 * SURE * self.noise * self.clip**2
        most = noise * (1 + SURE * math.sqrt(2 / max(1, entries))) + cross + self.clip**2 * (1 + ROUNDING)
        return least <= square <= most

    def before(self, after: AllowedUpdate) -> AllowedUpdate:
        """Tell the noise, and whether the norm was clipped, so that the scale is not known.

        The norm before the noise is ‖ĝ‖² − entries · σ², to a deviation of σ √(4 ‖g‖² + 2 σ² entries); it counts as
        clipped unless it is two of them below clip².
        """
        noise = math.hypot(after.noise, self.noise * self.clip)
        centres = [(after.low[name] + after.high[name]).double() / 2 for name in after.low]
        square = float(sum(each.square().sum() for each in centres))
        entries = sum(each.numel() for each in centres)
        doubt = noise * math.sqrt(4 * self.clip**2 + 2 * noise**2 * entries)
        clipped = not square - entries * noise**2 < (1 - ROUNDING) * self.clip**2 - 2 * doubt  # NaN where unbounded
        return replace(after, noise=noise, scaled=after.scaled or clipped)

    def spends(self) -> Spent:
        """Give μ = 2 / noise of an image: in the clipped update it changes 2 · clip at most, wherever it takes it."""
        return Spent("gaussian", (2 / self.noise) ** 2) if self.noise else Spent()

    def epsilon(self, rounds: int, delta: float = DELTA) -> float:
        """Give ε of so many updates of one client, by Opacus' accountant (Rényi, no sampling)."""
        if self.noise == 0:
            return math.inf
        from opacus.accountants import RDPAccountant  # here: it takes long to import

        accountant = RDPAccountant()
        for _ in range(rounds):
            accountant.step(noise_multiplier=self.noise, sample_rate=1.0)
        with warnings.catch_warnings():  # at so little noise that no order is best, ε is only an upper bound, and huge
            warnings.filterwarnings("ignore", "Optimal order is the", UserWarning)
            return float(accountant.get_epsilon(delta))

    def known(self, rounds: int) -> tuple[Known, ...]:
        """Give ε."""
        if self.noise == 0:
            return ()
        return (
            Known(
                f"Whether a client sent its {rounds} update{'s' if rounds > 1 else ''} at all is ε ="
                f" {self.epsilon(rounds):.3g} differentially private, at δ = {DELTA}.",
                "Mironov 2017, by Opacus' accountant",
            ),
        )
