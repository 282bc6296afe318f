"""Sets of public images that may be in rows, and mixtures of them."""

from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.records import Samples
from hideseek.seek.signals.matched_filter import TINY

Pixels = Float[Tensor, "n c h w"]


@dataclass(frozen=True)
class Found:
    """Images that may be in rows, with their weights: one set for each of `n` rows or guesses about a row."""

    places: Int[Tensor, "n j"]
    weights: Float[Tensor, "n j"]

    def sum(self, public: Samples) -> Pixels:
        """Give m, what was found, mixed."""
        images = public.pixels(self.places.flatten()).view(*self.places.shape, *public.shape)
        return (self.weights[:, :, None, None, None] * images).sum(1)


def mixtures(public: Samples, mixed: int, count: int, chance: Randomness) -> Pixels:
    """Mix public images at random: rows like those that are attacked, but for the mask, which squares do not show."""
    weights = chance.uniforms(count, mixed).float()
    places = chance.integers(len(public), count, mixed)
    return Found(places, weights / weights.sum(1, keepdim=True).clamp_min(TINY)).sum(public)
