"""A recipe says how every row of a release is made."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Literal, Self

import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor
from torch.nn.functional import pad

from hideseek.chance import Randomness
from hideseek.chance.gaussian_noise import gaussian_noise
from hideseek.data.store import gathered
from hideseek.errors import BadInput
from hideseek.hide.mixing.geometry import Geometry
from hideseek.hide.mixing.precision import Precision
from hideseek.records import Samples

if TYPE_CHECKING:
    from hideseek.hide.encoders.base import RecipeEncoder

MOST_NOISE = 1e30  # sums of squares of more would not fit


@dataclass(frozen=True)
class Noise:
    """Noise for every row: weights_r · size · e_r; e_r has Laplace or Gaussian pixels, or is a point of a sphere.

    All of them of unit scale, unit deviation or unit radius. Gaussian noise is what proofs are about, and is drawn with
    more care (`chance/gaussian_noise.py`).
    """

    kind: Literal["laplace", "sphere", "gaussian"]
    size: float
    weights: Float[Tensor, " m"]

    def __post_init__(self) -> None:
        if not 0 <= self.size <= MOST_NOISE:
            raise BadInput(f"noise of size {self.size:.3g} does not fit 32-bit numbers: ask for less.")

    def draw(self, pixels: int, chance: Randomness) -> Float[Tensor, "m pixels"]:
        """Draw the noise of every row."""
        draws: dict[str, Callable[[int, int], Tensor]] = {
            "laplace": chance.laplace,
            "sphere": chance.sphere,
            "gaussian": partial(gaussian_noise, chance),
        }
        return draws[self.kind](len(self.weights), pixels).mul_(self.weights[:, None] * self.size)

    def rows(self, rows: slice | Tensor) -> Self:
        """Give the noise of some rows."""
        return replace(self, weights=self.weights[rows])


@dataclass(frozen=True)
class Recipe:
    """How the rows of a release are made: x̃_r = σ_r ∘ (Σ_j λ_rj x_{s_rj} + noise_r), ỹ_r = Σ_j λ_rj y_{s_rj} + noise.

    `scheme` is the encoder with everything filled in that it estimated from the private images.
    """

    scheme: "RecipeEncoder"
    sources: Int[Tensor, "m k_private"]
    weights: Float[Tensor, "m k"]  # the private ones first
    public_sources: Int[Tensor, "m k_public"]
    label_weights: Float[Tensor, "m k_private"] | None = None  # None: those of the private images
    noise: Noise | None = None
    label_noise: Noise | None = None
    geometry: Geometry | None = None
    precision: Precision = field(default_factory=Precision)

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def masked(self) -> bool:
        """Tell whether signs are flipped at random."""
        return self.scheme.masked

    def rows(self, rows: slice | Tensor) -> Self:
        """Give the recipe of some rows."""
        return replace(
            self,
            sources=_chosen(self.sources, rows),
            weights=_chosen(self.weights, rows),
            public_sources=_chosen(self.public_sources, rows),
            label_weights=None if self.label_weights is None else _chosen(self.label_weights, rows),
            noise=self.noise and self.noise.rows(rows),
            label_noise=self.label_noise and self.label_noise.rows(rows),
        )


def _chosen(tensor: Tensor, rows: slice | Tensor) -> Tensor:
    """Give some rows; NumPy gathers them, since torch would wake its threads for each of these small arrays."""
    return tensor[rows] if isinstance(rows, slice) else torch.from_numpy(gathered(tensor.numpy(), rows.numpy()))


def one_after_another(recipes: Sequence[Recipe]) -> Recipe:
    """Join the recipes of one scheme's rounds; where rows of one round have fewer images, they get some of weight 0."""
    first, *others = recipes
    if not others:
        return first
    width = max(recipe.sources.shape[1] for recipe in recipes)
    recipes = [_widened(recipe, width) for recipe in recipes]
    labels = [recipe.label_weights for recipe in recipes if recipe.label_weights is not None]
    return replace(
        first,
        sources=torch.cat([recipe.sources for recipe in recipes]),
        weights=torch.cat([recipe.weights for recipe in recipes]),
        public_sources=torch.cat([recipe.public_sources for recipe in recipes]),
        label_weights=torch.cat(labels) if labels else None,
        noise=_joined([recipe.noise for recipe in recipes if recipe.noise is not None]),
        label_noise=_joined([recipe.label_noise for recipe in recipes if recipe.label_noise is not None]),
    )


def _joined(noises: list[Noise]) -> Noise | None:
    return replace(noises[0], weights=torch.cat([noise.weights for noise in noises])) if noises else None


def _widened(recipe: Recipe, width: int) -> Recipe:
    """Give every row of a recipe without public images so many private ones: its first, again, without weight."""
    more = width - recipe.sources.shape[1]
    if not more:
        return recipe
    labels = recipe.label_weights
    return replace(
        recipe,
        sources=torch.cat([recipe.sources, recipe.sources[:, :1].expand(-1, more)], 1),
        weights=pad(recipe.weights, (0, more)),
        label_weights=None if labels is None else pad(labels, (0, more)),
    )


@dataclass(frozen=True)
class Batch:
    """Finished rows, and the part of their keys that was drawn on the way."""

    encoded: Samples
    mask: UInt8[Tensor, "m c bytes"] | None
    transforms: Float[Tensor, "m k 2 3"] | None
