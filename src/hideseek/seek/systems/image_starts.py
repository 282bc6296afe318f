"""Where gradient matching begins, and the range that pixels have."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from hideseek.chance import Randomness
from hideseek.records.samples import Normalisation


@dataclass(frozen=True)
class Start:
    """Images that matching begins with."""

    kind: Literal["normal", "grey"] = "normal"
    """N(0, 1) in every pixel, or images of one value, the middle of the range, with little noise on it."""
    coarse: int = 1
    """How many times smaller images are in the first half of the steps; then they grow."""
    stays: bool = False
    """Whether they stay small to the end, and what is missing is guessed from the attacker's own images, where he has
    any: less is to be found than in whole images (Yue et al. 2023, ROG).
    Deviation: they guess by a trained network, here it is a linear filter (`sharpened`)."""

    def images(
        self, restarts: int, count: int, shape: tuple[int, int, int], limits: tuple[Tensor, Tensor] | None,
        chance: Randomness,
    ) -> Float[Tensor, "restarts n c h w"]:  # fmt: skip
        """Draw as many starts as there are restarts."""
        channels, height, width = shape
        small = (max(1, height // self.coarse), max(1, width // self.coarse)) if self.coarse > 1 else (height, width)
        drawn = chance.normals(restarts, count, channels, *small)
        if self.kind == "grey":
            drawn = drawn * 0.1 + (0.0 if limits is None else (limits[0] + limits[1]).cpu() / 2)
        return drawn

    def enlarge(self, shape: tuple[int, int, int]) -> Callable[[Tensor], Tensor] | None:
        """Give what makes whole images of small ones, where they are small."""
        if self.coarse == 1:
            return None
        return lambda small: functional.interpolate(small, shape[1:], mode="bicubic", align_corners=False)


def pixel_limits(
    normalisation: Normalisation, shape: tuple[int, int, int], *, masked: bool = False
) -> tuple[Tensor, Tensor] | None:
    """Give the values of black and white in each channel; None where pixels have no such range, as features.

    Under a mask of signs the range is that of the larger absolute value, on both sides of zero.
    """
    if normalisation.kind != "channel" or shape[1:] == (1, 1):
        return None
    mean, std = (torch.tensor(part)[:, None, None] for part in (normalisation.mean, normalisation.std))
    low, high = -mean / std, (1 - mean) / std
    if masked:
        high = torch.maximum(low.abs(), high.abs())
        low = -high
    return low, high
