"""Hiding by noise alone: the baseline that InstaHide compares itself with."""

import math
from dataclasses import dataclass, replace

import torch

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.hide.encoders.base import RecipeEncoder
from hideseek.hide.mixing.recipe import Noise, Recipe
from hideseek.records import ImagesPerRow, Samples

CHUNK = 1024  # images whose pixels are looked at together


@dataclass(frozen=True)
class Laplace(RecipeEncoder):
    """Add Laplace noise to every pixel: x̃_i = (1 − α) x_i + e with E‖e‖₁ = E‖α x_j‖₁ (InstaHide §5.2 b).

    A Laplace variable of scale b has E|e| = b, so b = α · E‖x‖₁ / d. It is estimated from the private images unless it
    is given, and is then public as part of the scheme. Labels stay as they are: noise hides them from nobody.
    """

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
            scale = (
                self.alpha
                * sum(float(private.pixels(slice(i, i + CHUNK)).abs().double().sum()) for i in range(0, rows, CHUNK))
                / (rows * private.images[0].numel())
            )
        return Recipe(
            replace(self, scale=scale),
            torch.arange(rows)[:, None],
            torch.full((rows, 1), 1 - self.alpha),
            torch.empty(rows, 0, dtype=torch.int64),
            label_weights=torch.ones(rows, 1),
            noise=Noise("laplace", scale, torch.ones(rows)),
        )
