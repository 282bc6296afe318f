"""InstaHide (Huang, Song, Li and Arora 2020): Mixup under a one-time mask of signs. Broken in 2020 (Carlini et al.)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.hide.encoders.base import BYTES, RecipeEncoder
from hideseek.hide.encoders.coarse import coarser
from hideseek.hide.encoders.singularized_mixup import instead
from hideseek.hide.mixing.draws import Law, check_settings, coefficients, per_row, private_and_public
from hideseek.hide.mixing.recipe import Recipe
from hideseek.records import Change, Encoder, ImagesPerRow, Known, Samples

CARLINI = "Carlini et al.: Is Private Learning Possible with Instance Encoding?, IEEE S&P 2021"
CHEN = "Chen, Song, Tao and Zhang: Symmetric Boolean Factor Analysis with Applications to InstaHide, 2021"
TWO = "Huang et al.: InstaHide's Sample Complexity When Mixing Two Private Images, 2020"
CHALLENGE = "InstaHide challenge, leaderboard: the generator's attack, 2020"
STUDY = "measured: studies/breaking_instahide.py"
USUAL = 4  # images in a row, the paper's number: more are meant as a defence


class MaskedEncoder(RecipeEncoder):
    """What InstaHide and its variant have in common: the mask, and what is known of it."""

    @property
    def exact(self) -> bool:
        """Tell that rows are sums of the images, but for signs."""
        return True

    @property
    def masked(self) -> bool:
        """Tell that signs are flipped at random."""
        return True

    def weak_cases(self, images: Samples, chance: Randomness) -> Iterator[Encoder]:
        """Mix two images under a mask; then nearly one, or two private ones, which rows of one round share, too."""
        if self.mixes_public:
            yield InstaHide(k=2, k_private=1, largest=0.9, private_share=0.0)
            yield InstaHide(k=3, k_private=2, largest=0.9, private_share=0.9)
        else:
            yield InstaHide(k=2, largest=0.9, private_share=0.0)
            yield PairInstaHide(alpha=0.05)

    def published(self, rounds: int) -> Iterator[Known]:
        """Say how InstaHide was broken, and what of that applies."""
        per_row = self.images_per_row
        yield Known(
            "Broken in 2020: absolute values undo the mask, a network tells which rows share an image, labels give the"
            " weights, and the images are solved for.",
            CARLINI,
        )
        if rounds > 1:
            yield Known(
                f"Re-encoding feeds that attack: every image is in {per_row.private * rounds} rows under fresh masks.",
                CARLINI,
            )
            yield Known(
                "No network is needed for it: rows are linked by their white squares and labels, assigned to their"
                " images round by round, and solved for under the mask.",
                f"hideseek, link-and-solve, phase-retrieval; {STUDY}",
            )
        yield Known(
            "Small images are smooth, so that the signs of a row change only where it is near 0: its absolute values"
            " alone tell most of the mask, and what is left is a mixture, as of Mixup. Of X-rays that are hidden once,"
            " the mixture comes back with a correlation of 0.999, and three in five are picked by it.",
            f"hideseek, smooth-signs; {STUDY}",
        )
        if per_row.public:
            yield Known(
                "A single row is enough where the public images are known: these are found one after another, and what"
                " they leave is a picture of the private images.",
                f"hideseek, unmask-public; {STUDY}",
            )
        if per_row.private == 2:
            yield Known(
                "With two private images in a row, the rows that share an image form a line graph, from which the"
                " pairs are recovered efficiently.",
                TWO,
            )
        if sum(per_row) > USUAL:
            yield Known(
                "A larger k is no defence: sparse factorisation recovers which images are in each row, for any k.", CHEN
            )
        yield Known(
            "Masks must come from a cryptographic generator, as they do here: those of the InstaHide challenge did not,"
            " and were drawn again.",
            CHALLENGE,
        )

    def stronger_settings(self) -> Iterator[tuple[Change, RecipeEncoder]]:
        """Advise another scheme: no setting of this one hides; and less exact numbers, which show less."""
        yield from instead()
        yield from coarser(self)


@dataclass(frozen=True)
class InstaHide(MaskedEncoder, mechanism="instahide"):
    """Mix every image with k − 1 others and flip the sign of every pixel at random: x̃_i = σ_i ∘ Σ_j λ_ij x_{π_j(i)}.

    Algorithm 2 (inside: all k private) and §3.2 (cross: 2 private, k − 2 public, only the private labels mixed, so
    their mass is under 1). σ is independent for every row, channel and pixel (Definition 3.1) and used once.
    """

    source: ClassVar = "InstaHide (Huang et al. 2020), Algorithm 2 and §3.2; where keys come from is ours"
    harder: ClassVar = {"k": 1, "largest": -1, "private_share": -1}

    k: int = 4
    """How many images are mixed into a row."""
    k_private: int | None = None
    """How many of them are private, the others public; None: all."""
    largest: float = 0.65
    """c1, the largest weight that one image may have."""
    private_share: float = 0.3
    """c2, the least that the weights of the private images sum to."""
    law: Law = "uniform"
    """The law of the weights before they are normalised."""

    def __post_init__(self) -> None:
        check_settings(self.k, self.k_private, self.largest, self.private_share)

    @property
    def images_per_row(self) -> ImagesPerRow:
        """Tell how many private and how many public images are mixed into a row."""
        return per_row(self.k, self.k_private)

    def recipe(self, private: Samples, public: Samples | None, chance: Randomness) -> Recipe:
        """Draw partners and weights."""
        sources, public_sources = private_and_public(private, public, self.k, self.k_private, chance)
        bounds = (self.largest, sources.shape[1], self.private_share)
        weights = coefficients(len(private), self.k, chance, self.law, *bounds)
        return Recipe(self, sources, weights, public_sources)


@dataclass(frozen=True)
class PairInstaHide(MaskedEncoder, mechanism="pair-instahide"):
    """Mix two images with fixed weights under a mask: x̃_i = σ_i ∘ ((1 − α) x_i + α x_j), j ≠ i (InstaHide §5.2 a)."""

    source: ClassVar = "InstaHide (Huang et al. 2020), §5.2 a"

    alpha: float = 0.5
    """The weight of the other image: the size of the perturbation."""

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise BadInput(f"alpha must be between 0 and 1, not {self.alpha}.")

    @property
    def images_per_row(self) -> ImagesPerRow:
        """Tell how many private and how many public images are mixed into a row."""
        return ImagesPerRow(2, 0)

    def recipe(self, private: Samples, public: Samples | None, chance: Randomness) -> Recipe:
        """Draw partners."""
        sources, none = private_and_public(private, public, 2, None, chance)
        weights = torch.tensor([1 - self.alpha, self.alpha]).expand(len(private), 2)
        return Recipe(self, sources, weights, none)

    def _bytes(self) -> Known:
        """Say that equal weights show the sum of two bytes alone."""
        if self.alpha != 1 / 2:
            return super()._bytes()
        shown = "the weights are equal: a pixel shows the sum of two bytes, under a mask too"
        return Known(f"Images are bytes, rows are exact to 32 bits, and {shown}.", BYTES)
