"""What is shared and how it is hidden: features, scales, lengths of noise; part of singularized.py."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
from torch import Tensor, nn

from hideseek.chance import Randomness, seeded
from hideseek.data import load, normalise
from hideseek.data.cache import cache_folder, keep
from hideseek.hide import SingularizedMixup
from hideseek.hide.encoders.singularized_mixup import noise_factor, spread
from hideseek.models.features import efficientnet_lite0, extract
from hideseek.records import Normalisation, Samples
from hideseek.train.recipes import RECIPES
from hideseek.train.schedules import Cosine
from hideseek.train.training import AdamW, Training

Set = Literal["mnist", "cifar10"]
Way = Literal["one encoding", "re-encoded"]
SETS: tuple[Set, ...] = ("mnist", "cifar10")
WAYS: tuple[Way, ...] = ("one encoding", "re-encoded")
NAMES = {"mnist": "MNIST", "cifar10": "CIFAR-10"}

EXTRACTOR, MODEL = "efficientnet-lite0", "classifier"
TAUS = (1.0, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
PARTIES = (10, 20, 30)
LOOKED_AT = 500  # images that the geometry of maps and of the published radius is estimated from
CHANCE = 10.0  # per cent, of ten classes
CLAIMED_TAU = 1e-6
TABLE_3 = {"mnist": 99.32, "cifar10": 90.51}
TABLE_4 = {10: (87.25, 90.63), 20: (85.56, 90.32), 30: (84.08, 88.23)}  # party 0 alone, the union of all


@dataclass(frozen=True, eq=False)  # so that it can be the key of a cache
class Scale:
    """How large everything is."""

    images: tuple[int | None, int | None]
    """Training and test images that are drawn from each set; None: all."""
    side: int
    training: Mapping[Set, Training]
    local: Training
    """For party 0 alone, who has few images."""
    seeds: int
    """Of the cells of Table 3."""


PAPER: Mapping[Set, Training] = {"mnist": RECIPES["singularized-mnist"], "cifar10": RECIPES["singularized-cifar10"]}
SHORT: Mapping[Set, Training] = dict.fromkeys(SETS, Training(12, 128, AdamW(), Cosine()))
SCALES = {
    "cpu": Scale((10_000, 4_000), 128, SHORT, PAPER["cifar10"], 1),
    "paper": Scale((None, None), 224, PAPER, PAPER["cifar10"], 3),
}


@dataclass(frozen=True)
class Hiding:
    """How long the noise of a row is: as τ asks in the space of the features or of their maps, or a given length."""

    row: str
    kind: Literal["plain", "radius", "features", "maps", "published"]
    value: float = 0.0

    def scheme(self, scale: Scale) -> SingularizedMixup | None:
        """Give the encoder, or none where nothing is hidden."""
        match self.kind:
            case "plain":
                return None
            case "radius":
                return SingularizedMixup(radius=self.value)
            case "features":
                return SingularizedMixup(tau=self.value)
            case "maps":
                return SingularizedMixup(tau=self.value, radius=averaged_radius(scale, self.value))
            case "published":
                return SingularizedMixup(tau=self.value, radius=published_radius(scale))


PLAIN, NO_NOISE = Hiding("no hiding", "plain"), Hiding("mixed, no noise", "radius")
BY_TAU = {tau: Hiding(f"τ = {tau:g}", "features", tau) for tau in TAUS}
MAPS = {tau: Hiding(f"maps, τ = {tau:g}", "maps", tau) for tau in (1e-4, 1e-6)}
JOINED = (NO_NOISE, *(BY_TAU[tau] for tau in (1.0, 1e-2, 1e-4, 1e-6)))  # how the parties of Table 4 hide
PUBLISHED = Hiding("radius as in the published code", "published", CLAIMED_TAU)
LITERAL = Hiding("radius 185", "radius", 185.0)
ROWS: dict[Set, tuple[Hiding, ...]] = {
    "mnist": (PLAIN, NO_NOISE, *BY_TAU.values()),
    "cifar10": (PLAIN, NO_NOISE, *BY_TAU.values(), PUBLISHED, LITERAL, *MAPS.values()),
}


def drawn(name: Set, split: str, count: int | None) -> Samples:
    """Draw raw images of a split, always the same ones."""
    samples = load(f"{name}?split={split}")
    return samples if count is None else samples.take(seeded(0).permutation(len(samples))[:count].sort().values)


def features_file(name: Set, split: str, count: int | None, side: int) -> Path:
    """Take the features of drawn images, unless they were taken before, and give the file that keeps them."""
    path = cache_folder() / "features" / f"{EXTRACTOR}-{side}-{name}-{split}-{count or 'all'}.npz"
    if not path.exists():
        taken = extract(drawn(name, split, count), efficientnet_lite0(side))
        labels = taken.labels.argmax(1).numpy()
        keep(path, {"x": taken.images.flatten(1).numpy(), "y": labels, "classes": np.array(taken.classes)})
    return path


def raw_features(name: Set, split: str, count: int | None, side: int) -> Samples:
    """Give the features of drawn images."""
    return load(f"npz:{features_file(name, split, count, side)}")


@cache
def features(name: Set, scale: Scale) -> tuple[Samples, Samples]:
    """Give the features of training and test images, less the mean of the training features, which is public.

    Theorem 4.2 has E[X] = 0, and centring changes no distance. Features are not scaled: the paper shares them as they
    are, and on MNIST some are zero for every image, others for nearly every one.
    """
    train, test = (
        raw_features(name, split, count, scale.side)
        for split, count in zip(("train", "test"), scale.images, strict=True)
    )
    centre = train.images.double().mean((0, 2, 3)).tolist()
    centred = Normalisation("channel", tuple(centre), (1.0,) * len(centre))
    return normalise(train, centred), normalise(test, centred)


class Maps(nn.Module):
    """What the extractor averages: the maps of every place."""

    def __init__(self, averaged: nn.Module) -> None:
        super().__init__()
        self.averaged = averaged

    def forward(self, images: Tensor) -> Tensor:
        """Give the maps."""
        maps: Tensor = self.averaged.network.extract_features(images)  # type: ignore[operator,union-attr]
        return maps


@cache
def averaged_radius(scale: Scale, tau: float) -> float:
    """Give the length of the noise that is left when maps are shared at τ and the server averages their p places.

    The paper shares maps, 512×7×7. There Theorem 4.2 asks for a longer r, as V is larger, but noise that is even over
    all directions loses more by averaging than images do: E‖(1/p) Σ_places e‖² = r² / p², to within 1/√(2f) = 2 % in
    each draw. So maps that are shared at r are features that are shared at r / p.
    """
    extractor = efficientnet_lite0(scale.side)
    maps = extract(drawn("cifar10", "train", LOOKED_AT), replace(extractor, module=Maps(extractor.module)))
    seen = spread(normalise(maps, features("cifar10", scale)[0].normalisation), seeded(0))
    radius = noise_factor(tau, SingularizedMixup().alpha, seen.concentration) * seen.distance
    return radius / (maps.shape[1] * maps.shape[2])


@cache
def published_radius(scale: Scale) -> float:
    """Give the mean ‖φ(clamp(x + e)) − φ(x)‖, with e as long as Theorem 4.2 asks at τ = 1e-6 in the space of pixels.

    The published code takes its radius so: what the theorem demands, 1300 times the distance between two
    images, is cut to [0, 1] before features are taken.
    """
    chance, extractor = seeded(0), efficientnet_lite0(scale.side)
    images = drawn("cifar10", "train", LOOKED_AT)
    pixels = nn.functional.interpolate(images.pixels(), (scale.side, scale.side), mode="bilinear", antialias=True)
    clean = Samples(pixels, images.labels)
    radius = estimated(SingularizedMixup(tau=CLAIMED_TAU), clean, chance).radius or 0.0
    noise = chance.sphere(len(pixels), pixels[0].numel()).reshape(pixels.shape) * radius
    noisy = Samples((pixels + noise).clamp(0, 1), images.labels)
    constants = features("cifar10", scale)[0].normalisation
    first, second = (normalise(extract(each, extractor), constants).pixels() for each in (clean, noisy))
    return float((first - second).flatten(1).norm(dim=1).mean())


def estimated(scheme: SingularizedMixup, private: Samples, chance: Randomness) -> SingularizedMixup:
    """Give a scheme with the radius that follows from the images."""
    known = scheme.with_estimates(private, None, chance)
    assert isinstance(known, SingularizedMixup)  # noqa: S101 (a scheme fills in itself)
    return known


def bound(scheme: SingularizedMixup, private: Samples) -> float:
    """Invert Theorem 4.2: the τ that a radius keeps in the space of these samples, α² / ((1 − α)² (1 + r² / V))."""
    ratio = (scheme.radius or 0.0) ** 2 / spread(private, seeded(0)).variance
    return scheme.alpha**2 / ((1 - scheme.alpha) ** 2 * (1 + ratio))
