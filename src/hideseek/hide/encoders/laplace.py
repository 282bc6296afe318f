"""Hiding by noise alone: the baseline that InstaHide compares itself with."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import torch

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.hide.encoders.base import RecipeEncoder
from hideseek.hide.mixing.recipe import Noise, Recipe
from hideseek.hide.mixing.signal import signal_and_rest
from hideseek.records import Change, ChangeKind, Effective, Encoder, ImagesPerRow, Known, Release, RowNoise, Samples
from hideseek.records.secret import Secret

CHUNK = 1024  # images whose pixels are looked at together
WEAK = 0.01  # α that hides nothing


@dataclass(frozen=True)
class Laplace(RecipeEncoder, mechanism="laplace"):
    """Add Laplace noise to every pixel: x̃_i = (1 − α) x_i + e with E‖e‖₁ = E‖α x_j‖₁ (InstaHide §5.2 b).

    A Laplace variable of scale b has E|e| = b, so b = α · E‖x‖₁ / d. It is estimated from the private images unless it
    is given, and is then public as part of the scheme. Labels stay as they are: noise does not hide them.
    """

    source: ClassVar = "InstaHide (Huang et al. 2020), §5.2 b"
    harder: ClassVar = {"scale": 1}

    alpha: float = 0.5
    """The size of the perturbation."""
    scale: float | None = None
    """b, the noise of one pixel; None: from the images, as above."""

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise BadInput(f"alpha must be between 0 and 1, not {self.alpha}.")
        if self.scale is not None and not 0 < self.scale < math.inf:
            raise BadInput(f"scale must be positive and finite, not {self.scale}.")

    @property
    def images_per_row(self) -> ImagesPerRow:
        """Tell how many private and how many public images are mixed into a row."""
        return ImagesPerRow(1, 0)

    def recipe(self, private: Samples, public: Samples | None, chance: Randomness) -> Recipe:
        """Fill in the scale."""
        rows = len(private)
        scale = self.scale
        if scale is None:
            scale = self.alpha * mean_size(private)
        return Recipe(
            replace(self, scale=scale),
            torch.arange(rows)[:, None],
            torch.full((rows, 1), 1 - self.alpha),
            torch.empty(rows, 0, dtype=torch.int64),
            label_weights=torch.ones(rows, 1),
            noise=Noise("laplace", scale, torch.ones(rows)),
        )

    def noise(self, pixels: int) -> RowNoise | None:
        """Give the variance of a Laplace variable, 2b²."""
        return None if self.scale is None else RowNoise(2 * self.scale**2)

    def weak_cases(self, images: Samples, chance: Randomness) -> Iterator[Encoder]:
        """Add hardly any noise."""
        yield Laplace(alpha=WEAK)

    def published(self, rounds: int) -> Iterator[Known]:
        """Say what noise does not hide."""
        yield Known(
            "Noise hides no label, and it averages out: T rounds divide its variance by T.",
            "Huang, Song, Li and Arora: InstaHide, ICML 2020, §5.2 b",
        )

    def stronger_settings(self) -> Iterator[tuple[Change, RecipeEncoder]]:
        """Halve what is left of the image."""
        alpha = (1 + self.alpha) / 2
        change = Change(ChangeKind.MORE_NOISE, "alpha", self.alpha, alpha, cost="it costs accuracy")
        yield change, replace(self, alpha=alpha, scale=None)

    def effective(self, release: Release, secret: Secret, chance: Randomness) -> tuple[Effective, ...]:
        """Measure the size of the noise, E‖x̃ − (1 − α) x‖₁ / E‖x‖₁."""
        rests = (float(rest.abs().double().mean(1).sum()) for _, rest in signal_and_rest(release, secret))
        meaning = "the mean size of the noise in the rows, in mean sizes of a pixel"
        return (Effective("alpha", self.alpha, sum(rests) / secret.items / mean_size(secret.private), meaning),)


def mean_size(samples: Samples) -> float:
    """Give E‖x‖₁ / d, the mean absolute value of a pixel."""
    chunks = (samples.pixels(slice(i, i + CHUNK)) for i in range(0, len(samples), CHUNK))
    return sum(float(pixels.abs().double().sum()) for pixels in chunks) / samples.images.numel()
