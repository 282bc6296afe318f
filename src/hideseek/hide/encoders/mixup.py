"""Mixup as a way of hiding (Zhang et al. 2018; Algorithm 1 of InstaHide)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.hide.encoders.base import RecipeEncoder
from hideseek.hide.encoders.coarse import coarser
from hideseek.hide.encoders.singularized_mixup import instead
from hideseek.hide.mixing.draws import Law, check_settings, coefficients, per_row, private_and_public
from hideseek.hide.mixing.recipe import Recipe
from hideseek.records import Change, Encoder, ImagesPerRow, Known, Samples

PAPER = "Huang, Song, Li and Arora: InstaHide, ICML 2020"


@dataclass(frozen=True)
class Mixup(RecipeEncoder, mechanism="mixup"):
    """Mix every image with k − 1 others: x̃_i = Σ_j λ_ij x_{π_j(i)}, ỹ_i = Σ_j λ_ij y_{π_j(i)}.

    Algorithm 1 of InstaHide, for any k; with fewer than k private images the others are public and carry no label
    (§2.2 there). It does not hide: mixtures of one image are found by their inner products, and averaged (§2.1).
    """

    source: ClassVar = "Zhang et al. 2018; InstaHide (Huang et al. 2020), Algorithm 1 and §2.2"
    harder: ClassVar = {"k": 1, "largest": -1}

    k: int = 2
    """How many images are mixed into a row."""
    k_private: int | None = None
    """How many of them are private, the others public; None: all."""
    largest: float = 1.0
    """c1, the largest weight that one image may have."""
    law: Law = "uniform"
    """The law of the weights before they are normalised."""

    def __post_init__(self) -> None:
        if self.k < 2:
            raise BadInput(f"Mixup with k = {self.k} would share the images as they are: set k to 2 or more.")
        check_settings(self.k, self.k_private, self.largest, 0)

    @property
    def exact(self) -> bool:
        """Tell that rows are sums of the images."""
        return True

    @property
    def images_per_row(self) -> ImagesPerRow:
        """Tell how many private and how many public images are mixed into a row."""
        return per_row(self.k, self.k_private)

    def recipe(self, private: Samples, public: Samples | None, chance: Randomness) -> Recipe:
        """Draw partners and weights."""
        sources, public_sources = private_and_public(private, public, self.k, self.k_private, chance)
        weights = coefficients(len(private), self.k, chance, self.law, self.largest)
        return Recipe(self, sources, weights, public_sources)

    def weak_cases(self, images: Samples, chance: Randomness) -> Iterator[Encoder]:
        """Mix two images; beside public ones, then two private ones, which rows of one round share."""
        yield Mixup(k=2, k_private=1 if self.mixes_public else None)
        if self.mixes_public:
            yield Mixup(k=3, k_private=2)

    def published(self, rounds: int) -> Iterator[Known]:
        """Say that rows of one image are found, and what many rounds add."""
        yield Known("Rows that share an image are found by their inner products, and averaged.", f"{PAPER}, §2.1")
        if self.mixes_public:
            yield Known("The public images in a row are found by inner products and subtracted.", f"{PAPER}, §2.2")
        if rounds > 1:
            yield Known(
                f"Every image is in {self.images_per_row.private * rounds} rows, which are {rounds} times as many"
                " equations as there are images: an attacker with the images of each row solves them exactly.",
                f"{PAPER}, §2.1; hideseek, mixup-pairs",
            )

    def stronger_settings(self) -> Iterator[tuple[Change, RecipeEncoder]]:
        """Advise another scheme: no setting of this one hides; and less exact numbers, which show less."""
        yield from instead()
        yield from coarser(self)
