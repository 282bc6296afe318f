"""Clusters of rows that share an image, where each row is known but for one sign: mean shift in white space."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from hideseek.chance import Randomness
from hideseek.records import Samples
from hideseek.seek.signals.whitening import Whitening
from hideseek.seek.work import DOUBLE, TOUCH

GROWING = (0.25, 0.5, 0.75, 1.0, 1.0)  # of its rows, that a cluster has in each step
START = 6  # neighbours that a seed begins with
SEEDS = 12  # for every image that is looked for, at most
SEEN = 2.0  # rows of an image a round, in which it is heavy enough to be told
SHRUNK = 0.05  # of the covariance of rows is taken from their spectrum, where they are as many as pixels


def whitener(
    rows: Float[Tensor, "m pixels"], shape: tuple[int, ...], shrunk: float = 0.0
) -> Float[Tensor, "pixels pixels"]:
    """Give W with W W' the inverse covariance of rows, which one sign for all of a row does not change.

    Images that are much alike, as faces are, differ in what their common frequencies do not tell. Yet rows may be few
    for so many pixels: as far as they are, or by the share that is given, their spectrum stands for the covariance.
    """
    count, pixels = rows.shape
    basis = Whitening.of(Samples(rows.view(-1, *shape), rows.new_empty(count, 0)))
    waves, power = basis.waves(), basis.deviations.square().flatten()
    smooth = ((waves * (power + 1e-3 * power.mean())) @ waves.T).double()
    share = min(1.0, max(shrunk, SHRUNK * pixels / max(1, count)))
    factor = torch.linalg.cholesky((1 - share) * (rows.T @ rows).double() / max(1, count) + share * smooth)
    white: Tensor = torch.linalg.solve_triangular(factor, torch.eye(pixels, dtype=torch.float64), upper=False)
    return white.T.float()


def signed_centres(
    white: Float[Tensor, "m pixels"],
    known: Float[Tensor, "n pixels"],
    count: int,
    rounds: int,
    apart: float,
    chance: Randomness,
) -> Float[Tensor, "found pixels"]:
    """Find at most so many directions that rows have in common, of unit length, each unlike the known ones.

    Seeds are rows; each moves to the mean of its nearest rows, turned to its side, of ever more of them. The tightest
    are taken first, and none whose cosine with one that is there is `apart` or more.
    """
    unit = functional.normalize(white)
    size = max(2, min(len(unit), round(SEEN * rounds)))
    seeds = unit[chance.permutation(len(unit))[: SEEDS * max(1, count)]]
    near = seeds @ unit.T
    top = near.abs().topk(min(START + 1, len(unit))).indices  # the first is the seed itself
    centres = _mean(unit, top, near.gather(1, top).sign())
    for share in GROWING:
        near = centres @ unit.T
        top = near.abs().topk(max(2, round(share * size))).indices
        centres = _mean(unit, top, near.gather(1, top))
    tight = (centres @ unit.T).abs().topk(size).values.mean(1)
    return centres[distinct(centres, tight, known, count, apart)]


def _mean(unit: Float[Tensor, "m pixels"], places: Tensor, weights: Tensor) -> Float[Tensor, "seeds pixels"]:
    """Give the direction of the weighted mean of some rows."""
    mixed = functional.embedding_bag(places, unit, mode="sum", per_sample_weights=weights.contiguous())
    return functional.normalize(mixed)


def distinct(
    centres: Float[Tensor, "m pixels"],
    order: Float[Tensor, " m"],
    known: Float[Tensor, "n pixels"],
    count: int,
    apart: float,
) -> list[int]:
    """Choose directions that are unlike each other and known ones, either sign, those of highest order first."""
    alike = (centres @ centres.T).abs()
    free = (centres @ known.T).abs().amax(1) < apart if len(known) else torch.ones(len(centres), dtype=torch.bool)
    chosen: list[int] = []
    for place in order.argsort(descending=True).tolist():
        if len(chosen) >= count:
            break
        if bool(free[place]):
            chosen.append(place)
            free &= alike[place] < apart
    return chosen


def signed_centres_work(rows: int, images: int, pixels: int) -> float:
    """Count the products of seeds with rows."""
    seeds = min(rows, SEEDS * images)
    return (len(GROWING) + 2) * seeds * rows * (pixels + 4.0 * TOUCH)


def whitening_work(rows: int, pixels: int) -> float:
    """Count the covariance, its factor and inverse, and the product with rows."""
    return 2.0 * rows * pixels**2 + (1 + DOUBLE) * float(pixels) ** 3
