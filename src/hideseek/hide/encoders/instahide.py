"""InstaHide (Huang, Song, Li and Arora 2020): Mixup under a one-time mask of signs. Broken in 2020 (Carlini et al.)."""

from dataclasses import dataclass

import torch

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.hide.encoders.base import RecipeEncoder
from hideseek.hide.mixing.draws import Law, check_settings, coefficients, private_and_public
from hideseek.hide.mixing.recipe import Recipe
from hideseek.records import ImagesPerRow, Samples


@dataclass(frozen=True)
class InstaHide(RecipeEncoder):
    """Mix every image with k − 1 others and flip the sign of every pixel at random: x̃_i = σ_i ∘ Σ_j λ_ij x_{π_j(i)}.

    Algorithm 2 (inside: all k private) and §3.2 (cross: 2 private, k − 2 public, only the private labels mixed, so
    their mass is under 1). σ is independent for every row, channel and pixel (Definition 3.1) and used once.
    """

    k: int = 4
    """How many images meet in a row."""
    k_private: int | None = None
    """How many of them are private, the others being public; None: all."""
    largest: float = 0.65
    """c1, the largest weight that one image may have."""
    private_share: float = 0.3
    """c2, the least that the weights of the private images sum to (where all are private, they sum to 1)."""
    law: Law = "uniform"
    """The law of the weights before they are normalised."""

    def __post_init__(self) -> None:
        check_settings(self.k, self.k_private, self.largest, self.private_share)

    @property
    def masked(self) -> bool:
        """Tell that signs are flipped at random."""
        return True

    @property
    def images_per_row(self) -> ImagesPerRow:
        """Tell how many private and how many public images are mixed into a row."""
        return (
            ImagesPerRow(self.k, 0) if self.k_private is None else ImagesPerRow(self.k_private, self.k - self.k_private)
        )

    def recipe(self, private: Samples, public: Samples | None, chance: Randomness) -> Recipe:
        """Draw partners and weights."""
        sources, public_sources = private_and_public(private, public, self.k, self.k_private, chance)
        bounds = (self.largest, sources.shape[1], self.private_share)
        weights = coefficients(len(private), self.k, chance, self.law, *bounds)
        return Recipe(self, sources, weights, public_sources, masked=True)


@dataclass(frozen=True)
class PairInstaHide(RecipeEncoder):
    """Mix two images with fixed weights under a mask: x̃_i = σ_i ∘ ((1 − α) x_i + α x_j), j ≠ i (InstaHide §5.2 a)."""

    alpha: float = 0.5
    """The weight of the other image: the size of the perturbation."""

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise BadInput(f"alpha must be between 0 and 1, not {self.alpha}.")

    @property
    def masked(self) -> bool:
        """Tell that signs are flipped at random."""
        return True

    @property
    def images_per_row(self) -> ImagesPerRow:
        """Tell how many private and how many public images are mixed into a row."""
        return ImagesPerRow(2, 0)

    def recipe(self, private: Samples, public: Samples | None, chance: Randomness) -> Recipe:
        """Draw partners."""
        sources, none = private_and_public(private, public, 2, None, chance)
        weights = torch.tensor([1 - self.alpha, self.alpha]).expand(len(private), 2)
        return Recipe(self, sources, weights, none, masked=True)
