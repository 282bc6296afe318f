"""Mixing with a proof: sums of clipped images and labels under Gaussian noise."""

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Final

import torch
from tyro.conf import arg

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.hide.encoders.base import RecipeEncoder
from hideseek.hide.encoders.guarantee import guarantees, measured
from hideseek.hide.mixing.clipping import image_factors, label_factors
from hideseek.hide.mixing.follow import follow
from hideseek.hide.mixing.partners import partners
from hideseek.hide.mixing.recipe import Noise, Recipe
from hideseek.hide.mixing.secret_sets import allocated_sets, poisson_sets
from hideseek.hide.privacy.calibration import Account, Proof
from hideseek.records import (
    Bound,
    Change,
    ChangeKind,
    Effective,
    Encoder,
    ImagesPerRow,
    Known,
    Queries,
    Release,
    RowNoise,
    Samples,
    SharedLabels,
    Spent,
)
from hideseek.records.secret import Secret

WEAK = 0.01  # of a pixel: noise that hides nothing
LESS = 4.0  # times less ε, where more noise is advised
NEAR = 0.99  # of a stated ε: what is spent within it is stated as it was asked for
MOST = 1e12  # ε that is counted with
LABEL_CLIP: Final = 1.0  # Cy, the length of a one-hot label
SHORT: Final = arg(metavar="N")
SOURCE = "hideseek, docs/threat-model.md; Dong, Roth and Su: Gaussian differential privacy, 2022"


@dataclass(frozen=True)
class GaussianMixup(RecipeEncoder, mechanism="gaussian-mixup"):
    """Mix clipped images under Gaussian noise, with a proof: x̃ = (1/m) Σ_{i∈S} clip(x_i, Cx) + N(0, σx² I).

    Labels likewise: ỹ = (1/m) Σ_{i∈S} clip(y_i, Cy) + N(0, σy² I). The noise follows from ε and δ for all rounds of
    the release, by the proof that fits what is public of the sets S (`hide/privacy/calibration.py`):
    1/z² = (Cx / m σx)² + (Cy / m σy)², split as σx = (z Cx / m) √(1 + 1/λ²), σy = (z Cy / m) √(1 + λ²), with Cy = 1.
    On 20,000 images of MNIST, class means in closed form have 10, 26 and 51 % at ε = 1, 3 and 8 where the mix is known
    (λ = 1; 0.5 and 3 are worse), and 74, 76 and 77 % by `poisson` with m = 64; without noise they have 77 %.

    - `known-mix`: partners as in Mixup, each image in m rows of a round; the mix may be known. μ = √(m T) / z.
    - `poisson`: every image is in every row with probability m/n; `allocation`: every image is in m rows of a round,
      drawn by itself. Both hold only while nobody knows which images are in which row.

    Sums are divided by the constant m, never by how many images were drawn, which would depend on each of them. The
    neighbouring relation is an image with its label that is added or left out, where n is known.

    Limit: proofs are about real numbers; noise in float32 has gaps (`chance/gaussian_noise.py`).
    """

    source: ClassVar = "ours; Gaussian mechanism (Dong, Roth and Su 2022); allocation (Feldman and Shenfeld 2025)"
    harder: ClassVar = {"epsilon": -1, "delta": -1, "sigma": 1}

    m: Annotated[int, SHORT] = 4
    """Images in a row, on average."""
    epsilon: Annotated[float, SHORT] = 8.0
    """What all rounds may spend, unless sigma is given."""
    delta: Annotated[float, SHORT] = 1e-5
    """Less than 1 / images."""
    proof: Annotated[Proof, arg(metavar="WHAT")] = "known-mix"
    """The mix is known-mix; or secret: poisson, allocation."""
    clip: Annotated[float | None, SHORT] = None
    """Cx, the longest that an image may be; none: √d."""
    balance: Annotated[float, SHORT] = 1.0
    """λ: more of it puts less noise on images, more on labels."""
    sigma: Annotated[float | None, SHORT] = None
    """σx, the noise; none: it follows from epsilon."""
    accounted: Annotated[int | None, SHORT] = None
    """Rounds that the noise is made for; none: as released."""
    among: Annotated[int | None, SHORT] = None
    """n, the number of images, which is filled in."""

    def __post_init__(self) -> None:
        if self.m < 1:
            raise BadInput(f"a row has one image or more, not m = {self.m}.")
        if not 0 < self.epsilon < math.inf:
            raise BadInput(f"epsilon must be positive and finite, not {self.epsilon}.")
        if not 0 < self.delta < 1:
            raise BadInput(f"delta must be between 0 and 1, and less than 1 / images, not {self.delta}.")
        for name in ("clip", "balance", "sigma"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise BadInput(f"{name} must be positive and finite, not {value}.")
        if min(self.accounted or 1, self.among or 2) < 1:
            raise BadInput("rounds that are accounted for, and images, are counted from one.")

    @property
    def images_per_row(self) -> ImagesPerRow:
        """Tell how many images are mixed into a row, on average."""
        return ImagesPerRow(self.m, 0)

    @property
    def label_kind(self) -> SharedLabels:
        """Tell that labels have noise."""
        return "noisy"

    @property
    def movable(self) -> bool:
        """Tell that images may not be moved: one that was clipped may be longer when it was moved."""
        return False

    @property
    def public_range(self) -> float | None:
        """Give the clip: what is measured in private images is outside the proof."""
        return self.clip

    def for_rounds(self, rounds: int) -> "GaussianMixup":
        """Account for so many rounds; more than were accounted for before are refused."""
        if self.accounted is not None and rounds > self.accounted:
            raise BadInput(
                f"the noise is made for {self.accounted} rounds, and {rounds} would spend more than the stated epsilon:"
                " account for as many as are released."
            )
        return self if self.accounted is not None else replace(self, accounted=rounds)

    def check_given_away(self, given: tuple[str, ...]) -> None:
        """Refuse to tell who is in which row where the proof counts on it, and how much of each, in any case."""
        if given and self.proof != "known-mix":
            raise BadInput(
                f"the proof {self.proof} holds while nobody knows which images are in which row: give nothing of it"
                " away, or choose the proof known-mix."
            )
        if "weights" in given:
            raise BadInput(
                "the weights tell how much of each image was clipped, which no proof covers: give away the sources"
                " alone."
            )

    @property
    def account(self) -> Account:
        """Give what is released, as it is accounted for."""
        return Account(self.proof, self.m, self.among or 2, self.accounted or 1)

    @property
    def label_sigma(self) -> float | None:
        """Give σy = λ σx Cy / Cx; labels are never without noise."""
        return None if self.sigma is None or self.clip is None else self.balance * self.sigma * LABEL_CLIP / self.clip

    @property
    def multiplier(self) -> float:
        """Give z, by the noise that is filled in: σx = (z Cx / m) √(1 + 1/λ²)."""
        return self.m * (self.sigma or 0.0) / (self.clip or 1.0) / math.sqrt(1 + 1 / self.balance**2)

    def filled(self, private: Samples) -> "GaussianMixup":
        """Fill in the clip, the noise, and the ε that this spends."""
        count = len(private)
        if self.delta * count >= 1:
            raise BadInput(
                f"delta must be smaller than 1 / images, here {1 / count:.1g}: with {self.delta:g}, to publish some"
                " images as they are would count as private."
            )
        if self.m > count:
            raise BadInput(f"m = {self.m} images cannot differ when there are {count}: lower m or add images.")
        scheme = replace(self, among=count, accounted=self.accounted or 1)
        scheme = replace(scheme, clip=self.clip or math.sqrt(math.prod(private.shape)))
        if scheme.sigma is None:
            split = math.sqrt(1 + 1 / self.balance**2) * (1 + 1e-12)
            z = scheme.account.multiplier(self.epsilon, self.delta)
            scheme = replace(scheme, sigma=min(z * (scheme.clip or 1.0) / self.m * split, sys.float_info.max))
        Noise("gaussian", scheme.sigma or 0.0, torch.ones(0))  # refuses what does not fit
        spent = min(MOST, scheme.account.epsilon(scheme.multiplier, self.delta))
        return replace(scheme, epsilon=self.epsilon if NEAR * self.epsilon <= spent <= self.epsilon else spent)

    def recipe(self, private: Samples, public: Samples | None, chance: Randomness) -> Recipe:
        """Fill in the noise, draw the sets, and fold the clipping into the weights."""
        scheme, rows = self.filled(private), len(private)
        assert scheme.clip and scheme.sigma and scheme.label_sigma  # noqa: S101, PT018 (filled in)
        if self.proof == "known-mix":
            sources = partners(rows, self.m, chance)
            inside = torch.ones(sources.shape)
        else:
            sources, inside = (poisson_sets if self.proof == "poisson" else allocated_sets)(rows, self.m, chance)
        return Recipe(
            scheme,
            sources,
            inside * image_factors(private, scheme.clip)[sources] / self.m,
            torch.empty(rows, 0, dtype=torch.int64),
            label_weights=inside * label_factors(private, LABEL_CLIP)[sources] / self.m,
            noise=Noise("gaussian", scheme.sigma, torch.ones(rows)),
            label_noise=Noise("gaussian", scheme.label_sigma, torch.ones(rows)),
        )

    def noise(self, pixels: int) -> RowNoise | None:
        """Give the variance of the noise, σx²."""
        return None if self.sigma is None else RowNoise(self.sigma**2)

    def with_noise(self, images: Samples) -> "GaussianMixup":
        """Give the scheme with noise, if it has none yet."""
        return self if self.sigma is not None and self.clip is not None else self.for_rounds(1).filled(images)

    def queries(self, pool: Samples | None, public: Samples | None, chance: Randomness) -> Callable[[Samples], Queries]:
        """Give the function that encodes queries, each alone: clip(x) / m under the noise of a row.

        Deviation: other schemes mix images of the pool into queries. Here that would release them once more than the
        proof accounts for.
        """

        def encode(images: Samples) -> Queries:
            scheme, count = self.with_noise(pool if pool is not None else images), len(images)
            assert scheme.clip is not None and scheme.sigma is not None  # noqa: S101, PT018 (filled in)
            weights = image_factors(images, scheme.clip)[:, None] / self.m
            noise = Noise("gaussian", scheme.sigma, torch.ones(count))
            alone = Recipe(
                scheme, torch.arange(count)[:, None], weights, torch.empty(count, 0, dtype=torch.int64), noise=noise
            )
            return Queries(follow(alone, images, None, chance).encoded.images, weights[:, 0])

        return encode

    def weak_cases(self, images: Samples, chance: Randomness) -> Iterator[Encoder]:
        """Mix two images that are not clipped, under hardly any noise."""
        pixels = images.pixels().flatten(1)
        noise = max(WEAK * float(pixels.square().mean().sqrt()), torch.finfo(torch.float32).tiny)
        longest = max(float(pixels.norm(dim=1).max()), 1.0)
        yield GaussianMixup(m=2, clip=longest, sigma=noise)

    def known(self, rounds: int, *, labelled: bool, of_bytes: bool) -> tuple[Known, ...]:
        """Say what the proof holds for, and who is outside it; neither labels nor queries show more here."""
        if self.proof == "known-mix":
            return (
                Known(
                    "The proof holds against whoever knows which images are in which row, and all other images; an"
                    " attacker who is told the weights also knows how far each image was clipped, which is outside it.",
                    SOURCE,
                ),
            )
        return (
            Known(
                f"The proof {self.proof} holds while nobody knows which images are in which row: an attacker who is"
                " told (informed) is outside it, and may find more than is proved.",
                SOURCE,
            ),
        )

    def stronger(self, rounds: int) -> Iterator[tuple[Change, Encoder, int]]:
        """Spend less; fewer rounds at the same ε have less noise, and hide no more."""
        for change, scheme in self.stronger_settings():
            yield change, scheme, rounds

    def stronger_settings(self) -> Iterator[tuple[Change, RecipeEncoder]]:
        """Lower ε, and make the noise anew."""
        epsilon = self.epsilon / LESS
        change = Change(ChangeKind.MORE_NOISE, "epsilon", self.epsilon, epsilon, cost="it costs accuracy")
        yield change, replace(self, epsilon=epsilon, sigma=None)

    def effective(self, release: Release, secret: Secret, chance: Randomness) -> tuple[Effective, ...]:
        """Measure the noise, and what it comes to."""
        if self.sigma is None or self.clip is None:
            return ()
        stated = (self.epsilon, self.multiplier, self.sigma, self.label_sigma or 0.0)
        clips = (self.clip, LABEL_CLIP)
        return measured(self.account, self.m, self.delta, stated, clips, release, secret)

    def spends(self, images: int, rounds: int) -> Spent:
        """Tell what all rounds spend, by the proof: μ² where the mix may be known, else ε at δ.

        A σ that was given without the clip that it goes with proves nothing yet.
        """
        if self.sigma is not None and self.clip is None:
            return Spent()
        scheme = replace(self.for_rounds(rounds), among=images)
        account = scheme.account
        noise = account.multiplier(self.epsilon, self.delta) if self.sigma is None else self.multiplier
        if self.proof == "known-mix":
            return Spent("gaussian", account.mu(noise) ** 2)
        secret = None if self.proof == "poisson" else account.mu(noise) ** 2
        return Spent(self.proof, secret, account.epsilon(noise, self.delta), self.delta)

    def bounds(self, effective: tuple[Effective, ...]) -> tuple[Bound, ...]:
        """Say what is proved by the noise that is stated, once it is filled in."""
        return guarantees(self.account, self.multiplier, self.delta) if self.sigma is not None and self.clip else ()
