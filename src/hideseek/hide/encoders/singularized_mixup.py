"""Singularized Mixup ("Augmented Mixup Procedure for Privacy-Preserving Collaborative Training", Algorithm 1)."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import torch

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.hide.encoders.base import RecipeEncoder
from hideseek.hide.mixing.draws import coefficients
from hideseek.hide.mixing.partners import partners
from hideseek.hide.mixing.recipe import Noise, Recipe
from hideseek.hide.mixing.signal import signal_to_rest
from hideseek.records import (
    Bound,
    Change,
    ChangeKind,
    Effective,
    Encoder,
    ImagesPerRow,
    Known,
    Release,
    RowNoise,
    Samples,
)
from hideseek.records.secret import Secret

CHUNK = 1024  # images whose pixels are looked at together
PAIRS = 4096  # that the mean distance is estimated from
WEAK = 0.01  # length of noise that hides nothing, in mean distances between two images
LESS = 100.0  # times less signal, where more noise is advised
THEOREMS_TAU = "tau by Theorem 4.2"
MEASURED = (
    "the signal-to-noise ratio E‖w₁x‖² / E‖x̃ − w₁x‖², measured in the rows; what is stated is meant as the most that it"
    " may be"
)
PAPER = "Singularized Mixup, Algorithm 1, Theorems 4.1 and 4.2; what follows from them is a finding of hideseek's"
STRONG_COST = (
    "on features of CIFAR-10 such noise left a network 12.3 of 85.3 % accuracy, and class means in closed form 36.8 of"
    " 77.9 %, from one encoding of 10,000 images (studies/results/singularized-cpu.md)"
)


@dataclass(frozen=True)
class Spread:
    """How far apart the images are, in the space that is shared (Theorem 4.2): V = tr Σ, D = E‖X − X′‖, c = D² / 2V."""

    variance: float
    distance: float

    @property
    def concentration(self) -> float:
        """Give c, of (0, 1]; 1 when all pairs are equally far apart."""
        return self.distance**2 / (2 * self.variance)


def spread(samples: Samples, chance: Randomness) -> Spread:
    """Estimate V from all samples and D from random pairs of them.

    Deviation: the theorem sets E[X] = 0; V is taken about the mean of the samples, so that images and features that are
    not centred are served too.
    """
    count, total, squares = len(samples), torch.zeros(samples.images[0].numel(), dtype=torch.float64), 0.0
    for start in range(0, count, CHUNK):
        pixels = samples.pixels(slice(start, start + CHUNK)).flatten(1).double()
        total += pixels.sum(0)
        squares += float(pixels.square().sum())
    variance = (squares - float(total.square().sum()) / count) / (count - 1)
    ones = chance.integers(count, min(PAIRS, 8 * count))
    others = (ones + 1 + chance.integers(count - 1, len(ones))) % count
    distances = [
        (samples.pixels(ones[i : i + CHUNK]) - samples.pixels(others[i : i + CHUNK])).flatten(1).norm(dim=1)
        for i in range(0, len(ones), CHUNK)
    ]
    return Spread(variance, float(torch.cat(distances).double().mean()))


def noise_factor(tau: float, alpha: float, concentration: float) -> float:
    """Give m_f, how many mean distances long the noise must be: √((α² / (τ (1 − α)²) − 1) / 2c) (Theorem 4.2).

    Zero where the mixture keeps to SNR ≤ τ without noise.

    >>> round(noise_factor(1e-2, 0.65, 1.0)), round(noise_factor(1e-6, 0.65, 1.0))
    (13, 1313)
    """
    return math.sqrt(max(0.0, alpha**2 / (tau * (1 - alpha) ** 2) - 1) / (2 * concentration))


def signal_to_noise(alpha: float, radius: float, variance: float) -> float:
    """Bound a row's signal-to-noise ratio: α² / ((1 − α)² (1 + r²/V)) (Theorem 4.2).

    >>> round(signal_to_noise(0.65, 0.0, 1.0), 2)
    3.45
    """
    return alpha**2 / ((1 - alpha) ** 2 * (1 + radius**2 / variance))


@dataclass(frozen=True)
class SingularizedMixup(RecipeEncoder, mechanism="singularized-mixup"):
    """Mix two images, the second under noise of a fixed length: x̃_i = w_1 x_i + w_2 (x_{π(i)} + e_i).

    e_i is even over the sphere of radius r; w ~ U[0,1]², normalised, with ‖w‖_∞ ≤ α, mixes the labels too. The radius
    is given, or follows from the threshold τ by Theorem 4.2: r = m_f · D, in the space that is shared, pixels or
    features.

    Deviation: π has no fixed point; a uniform permutation leaves about one image its own partner, released unmixed.
    Beware: as every e_i has the same length, ‖x̃ − w_1 x − w_2 x′‖ = w_2 r confirms a guessed pair of images.
    """

    source: ClassVar = "Singularized Mixup, Algorithm 1 and Theorem 4.2; that nobody is his own partner is ours"
    harder: ClassVar = {"tau": -1, "radius": 1}

    alpha: float = 0.65
    """The largest weight that one image may have."""
    tau: float = 1e-2
    """The signal-to-noise ratio that a row may have, unless a radius is given."""
    radius: float | None = None
    """r, the length of the noise; None: it follows from tau."""

    def __post_init__(self) -> None:
        if not 0.5 < self.alpha < 1:
            raise BadInput(f"alpha must be between 0.5 and 1, since two weights sum to 1, not {self.alpha}.")
        most = (self.alpha / (1 - self.alpha)) ** 2
        if not 0 < self.tau <= most:
            raise BadInput(
                f"tau must be above 0 and at most α²/(1 − α)² = {most:.3g}, which rows have without"
                f" noise, not {self.tau}."
            )
        if self.radius is not None and not 0 <= self.radius < math.inf:
            raise BadInput(f"radius must be finite and not negative, and is {self.radius}.")

    @property
    def images_per_row(self) -> ImagesPerRow:
        """Tell how many private and how many public images are mixed into a row."""
        return ImagesPerRow(2, 0)

    def recipe(self, private: Samples, public: Samples | None, chance: Randomness) -> Recipe:
        """Fill in the radius, draw partners and weights."""
        rows = len(private)
        radius = self.radius
        if radius is None:
            seen = spread(private, chance)
            if not seen.variance > 0:
                raise BadInput("all images are equal, so no length of noise follows from tau: give a radius.")
            radius = noise_factor(self.tau, self.alpha, seen.concentration) * seen.distance
        weights = coefficients(rows, 2, chance, largest=self.alpha)
        return Recipe(
            replace(self, radius=radius),
            partners(rows, 2, chance),
            weights,
            torch.empty(rows, 0, dtype=torch.int64),
            noise=Noise("sphere", radius, weights[:, 1]),
        )

    def noise(self, pixels: int) -> RowNoise | None:
        """Give the variance of a pixel of e, r²/d; the second weight multiplies it."""
        return RowNoise(self.radius**2 / pixels, weight=1, one_length=True) if self.radius else None

    def weak_cases(self, images: Samples, chance: Randomness) -> Iterator[Encoder]:
        """Add noise that is short beside the distance of two images."""
        yield SingularizedMixup(radius=WEAK * spread(images, chance).distance)

    def published(self, rounds: int) -> Iterator[Known]:
        """Say what noise of one length confirms, and what the theorems do not say."""
        yield Known(
            "All noise has one length, so ‖x̃ − w₁x − w₂x′‖ = w₂r holds for the two images in a row, to rounding, and"
            " for no others, at every τ: who has candidate images confirms which are in it, membership is not"
            " protected, and there is no finite (ε, δ).",
            f"{PAPER} (measured: tests/hide/encoders/test_singularized_mixup.py)",
        )
        yield Known(
            "For images of bounded range, Theorem 4.1 is above the error of answering with the mean: it says nothing.",
            PAPER,
        )
        if rounds > 1:
            yield Known(f"What counts is dimensions × τ × rounds: {rounds} releases of an image add up.", PAPER)

    def stronger_settings(self) -> Iterator[tuple[Change, RecipeEncoder]]:
        """Lower the signal-to-noise ratio."""
        if self.radius is None:
            tau = self.tau / LESS
            yield Change(ChangeKind.MORE_NOISE, "tau", self.tau, tau, cost="it costs accuracy"), replace(self, tau=tau)
            return
        radius = self.radius * LESS**0.5
        change = Change(ChangeKind.MORE_NOISE, "radius", self.radius, radius, cost="it costs accuracy")
        yield change, replace(self, radius=radius)

    def effective(self, release: Release, secret: Secret, chance: Randomness) -> tuple[Effective, ...]:
        """Measure the signal-to-noise ratio of the rows, and give the theorem's bound of it at this radius beside it.

        The bound is at the largest weight, α; most rows have less of their image, so that the ratio is lower. The
        stated τ is what the radius followed from, or, where a radius was given, was meant to follow from.
        """
        if self.radius is None:
            return super().effective(release, secret, chance)
        most = signal_to_noise(self.alpha, self.radius, spread(secret.private, chance).variance)
        return (
            Effective("tau", self.tau, signal_to_rest(release, secret), MEASURED),
            Effective(THEOREMS_TAU, self.tau, most, "the most that the theorem lets it be at this length of noise"),
            *super().effective(release, secret, chance),
        )

    def bounds(self, effective: tuple[Effective, ...]) -> tuple[Bound, ...]:
        """Give the bound of Theorem 4.2 at this radius: what is proved is not what was measured."""
        ratio = next((each.effective for each in effective if each.name == THEOREMS_TAU), None)
        if not ratio:
            return ()
        limits = "it says nothing of several rows, of priors, or of membership"
        return (Bound("Theorem 4.2", "the signal-to-noise ratio of one row", ratio, limits),)


def instead() -> Iterator[tuple[Change, RecipeEncoder]]:
    """Advise this mechanism in place of one that no setting of its own makes hide."""
    strong = SingularizedMixup(tau=1e-4)
    yield Change(ChangeKind.OTHER_SCHEME, "tau", None, strong.tau, strong.mechanism, STRONG_COST), strong
