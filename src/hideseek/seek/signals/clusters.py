"""Clusters of rows that share an image, among the rows that have a class: mean shift in white space."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from hideseek.chance import Randomness
from hideseek.seek.work import DOUBLE, TOUCH

FEATURES = 4  # directions for every image of a class that are kept
EXTRA = 5  # directions beside
ITERATIONS = 6  # that find them
GROWING = (0.25, 0.5, 0.75, 1.0, 1.0)  # of its rows, that a cluster has in each step
SEEDS = 25  # for every image, at most
START = 8  # neighbours that a seed begins with
SAME = 0.35  # cosine from which two clusters are of one image
SEEN = 1.2  # rows of an image a round, of the k that it is in, in which it is heavy enough to be told


@dataclass(frozen=True)
class Clusters:
    """Groups of rows, the tightest first, each of one image."""

    members: Int[Tensor, "clusters size"]
    """Places among the rows that were given."""
    tightness: Float[Tensor, " clusters"]
    """The mean cosine of members with the cluster's centre."""
    distinct: int
    """How many are less alike than SAME: the others fill up the number that was asked for."""


def clusters(
    unit: Float[Tensor, "m pixels"],
    strengths: Float[Tensor, " m"],
    count: int,
    rounds: int,
    chance: Randomness,
) -> Clusters:
    """Find so many clusters among rows of one class, in which an image of it has strength λ².

    Rows are reduced to the directions in which heavy ones differ most: images span these, noise does not. Seeds are
    rows of more than median strength; each moves to the mean of its nearest rows, of ever more of them.
    """
    weights = strengths / strengths.mean().clamp_min(1e-12)
    features = _features(unit, weights, count, chance)
    size = max(2, min(len(unit), round(SEEN * rounds)))
    heavy = (strengths >= strengths.median()).nonzero()[:, 0]
    seeds = heavy[chance.permutation(len(heavy))[: SEEDS * count]]
    near = features[seeds] @ features.T * weights
    near[torch.arange(len(seeds)), seeds] = -torch.inf
    top = near.topk(min(START, max(1, size // 2), len(unit) - 1)).indices
    own = features[seeds] * weights[seeds, None]
    centres = functional.normalize((features[top] * weights[top, None]).mean(1) + own)
    for share in GROWING:
        value, top = (centres @ features.T).topk(max(2, round(share * size)))
        centres = functional.normalize((features[top] * (weights[top] * value.clamp_min(0))[..., None]).sum(1))
    value, top = (centres @ features.T).topk(size)
    tight = value.mean(1)
    chosen, distinct = _distinct(centres, tight, count)
    return Clusters(top[chosen], tight[chosen], distinct)


def _features(
    unit: Float[Tensor, "m pixels"], weights: Float[Tensor, " m"], count: int, chance: Randomness
) -> Float[Tensor, "m features"]:
    """Give rows in the leading directions of weighted rows, of unit length; subspace iteration finds these."""
    centred = functional.normalize(unit - unit.mean(0))
    kept = min(FEATURES * count + EXTRA, *unit.shape)
    weighted = centred * weights[:, None]
    directions = chance.normals(unit.shape[1], kept).to(unit)
    for _ in range(ITERATIONS):
        directions = torch.linalg.qr(weighted.T @ (weighted @ directions))[0]
    return functional.normalize(centred @ directions)


def _distinct(
    centres: Float[Tensor, "seeds features"], tight: Float[Tensor, " seeds"], count: int
) -> tuple[Int[Tensor, " count"], int]:
    """Choose clusters of different images, the tightest first; then, always, the one that is least like the others."""
    alike = centres @ centres.T
    chosen: list[int] = []
    for seed in tight.argsort(descending=True).tolist():
        if len(chosen) < count and not bool((alike[seed, chosen] >= SAME).any()):
            chosen.append(seed)
    distinct = len(chosen)
    while len(chosen) < count:
        chosen.append(int(alike[:, chosen].amax(1).argmin()))
    return torch.tensor(chosen), distinct


def clusters_work(rows: float, count: float, pixels: int) -> float:
    """Count the directions, and the products of seeds with rows."""
    kept = FEATURES * count + EXTRA
    seeds = min(SEEDS * count, rows / 2)
    products = (len(GROWING) + 2) * seeds * rows * (kept + 4 * TOUCH)
    found = ITERATIONS * (2 * rows * pixels * kept + 4 * DOUBLE * pixels * kept**2)
    return found + products + 5 * rows * pixels * TOUCH
