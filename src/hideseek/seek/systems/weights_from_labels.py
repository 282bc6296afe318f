"""Weights of known images in rows, read from mixed labels: exact where classes differ, expected where they do not."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.records import EncodedRelease, Reason, Refusal, Refused

TRIED = 256  # own images that tell how weights vary
TURNS = 100  # of propagation; each settles at least one image more


@dataclass(frozen=True)
class ReadWeights:
    """What labels tell of weights."""

    weights: NDArray[np.float64]
    """m × k: the mass of an image's class, or an even share of it."""
    exact: NDArray[np.bool_]
    """m × k: whether an image is the only one of its class in the row."""


def read_weights(labels: Float[Tensor, "m classes"], sources: Int[Tensor, "m k"], images: int) -> ReadWeights:
    """Read the weights of rows whose images are known, and their classes not.

    An image has a class that every one of its rows shows. Where a row shows as many classes as it has images, all
    differ, so a class that one image must have no other has; and so on, until nothing changes. The weight of an image
    is its class's mass in the label. Images of one class in a row share its mass evenly, in the mean; so do those whose
    classes stay open share what is left.
    """
    masses, places = labels.double().numpy(), sources.numpy()
    classes = _classes(masses > 0, places, images)
    rows, per_row = places.shape
    weights, exact = np.zeros((rows, per_row)), np.zeros((rows, per_row), bool)
    if masses.shape[1] == 0:
        return ReadWeights(np.full((rows, per_row), 1 / per_row), exact)
    of_row = classes[places]
    known = of_row >= 0
    alike = (of_row[:, :, None] == of_row[:, None, :]) & known[:, :, None]
    shared = np.maximum(alike.sum(2), 1)
    mass = np.take_along_axis(masses, np.maximum(of_row, 0), 1)
    settled = known.all(1)[:, None]
    exact = settled & (shared == 1)
    even = np.broadcast_to(masses.sum(1, keepdims=True) / per_row, weights.shape)
    return ReadWeights(np.where(settled, mass / shared, even), exact)


def _classes(shown: NDArray[np.bool_], places: NDArray[np.int64], images: int) -> NDArray[np.int64]:
    """Give the class of every image; −1 where rows leave it open."""
    possible = np.ones((images, shown.shape[1]), bool)
    for column in places.T:
        np.logical_and.at(possible, column, shown)
    distinct = shown.sum(1) == places.shape[1]
    for _ in range(TURNS):
        settled = possible.sum(1) == 1
        before = int(possible.sum())
        for one in range(places.shape[1]):
            for other in range(places.shape[1]):
                rows = np.flatnonzero(distinct & settled[places[:, one]]) if one != other else np.empty(0, np.int64)
                np.logical_and.at(possible, places[rows, other], ~possible[places[rows, one]])
        if int(possible.sum()) == before:
            break
    found: NDArray[np.int64] = (
        np.where(possible.sum(1) == 1, possible.argmax(1), -1) if shown.shape[1] else (np.full(images, -1))
    )
    return found


def with_read_weights(release: EncodedRelease, chance: Randomness) -> tuple[EncodedRelease, NDArray[np.float64], float]:
    """Give a release with the weights that its labels show, how unsure those of each row are, and the share shown.

    How much weights vary is told by rows of the attacker's own, made by the same scheme.
    """
    known = release.own if release.own is not None else release.public
    sources, images = release.sources, len(release.encoded) // release.rounds
    if known is None or sources is None:
        raise Refused(Refusal(Reason.NO_OWN_IMAGES if known is None else Reason.INCOMPLETE_SOURCES))
    _, secret = release.scheme.hide(known.take(slice(0, TRIED)), release.public, chance)
    drawn = secret.weights.double()
    private = drawn[:, : sources.shape[1]]
    read = read_weights(release.mixed_labels, sources, images)
    spread = float(private.var() / private.mean() ** 2)
    unsure = (np.where(read.exact, 0.0, read.weights) ** 2).sum(1) * spread
    others = drawn[:, sources.shape[1] :].mean(0).expand(len(sources), -1)
    weights = torch.cat([torch.from_numpy(read.weights), others], 1).float()
    return replace(release, weights=weights), unsure, float(read.exact.mean())
