"""How a known sum of weights is split among two images, from differences of neighbours that are right to 1e-6.

Neighbours differ by few bytes d₁, d₂ in both images, δ = w₁ d₁ + (W − w₁) d₂, so every guess of the bytes gives
w₁ = (δ − W d₂) / (d₁ − d₂), and right guesses agree. As in `byte_weights`, but for what public images leave of a row,
where nothing is right to the bit.
"""

import numpy as np
from numpy.typing import NDArray

STEP = 4  # bytes that neighbours differ by at most, in either image
BIN = 8e-6  # of the histogram of votes
PEAKS = 6  # that are given
_SPREAD = 3.0  # bytes: the scale of differences, as a Cauchy law
_NEAR = 4e-5  # bytes that a difference may be off by
_FITS = 3  # of a weight to the differences that it explains

Array = NDArray[np.float64]


def split_votes(differences: Array, total: float) -> list[float]:
    """Give the likeliest lesser weights of two images, which sum to `total`, from differences in bytes.

    Where both images differ alike, by whole multiples of `total`, a difference tells nothing and is left out.
    """
    few = differences[np.abs(differences) <= STEP * total + _NEAR]
    alike = np.abs(few / total - np.rint(few / total)) * total
    told = few[alike > _NEAR]
    every = np.stack(np.meshgrid(*[np.arange(-STEP, STEP + 1)] * 2, indexing="ij"), -1).reshape(-1, 2)
    one, two = every[every[:, 0] != every[:, 1]].T
    weights = (told[:, None] - total * two) / (one - two)
    common = np.broadcast_to(1 / (1 + (one / _SPREAD) ** 2) / (1 + (two / _SPREAD) ** 2), weights.shape)
    inside = (weights > 0) & (weights <= total / 2 + BIN)
    votes = np.bincount((weights[inside] / BIN).astype(np.int64), common[inside], int(total / 2 / BIN) + 3)
    smooth = votes[:-1] + votes[1:]
    found = []
    for _ in range(PEAKS):
        top = int(smooth.argmax())
        weight = (top + 1) * BIN
        for _ in range(_FITS):
            errors = told[:, None] - total * two - weight * (one - two)
            near = np.abs(errors) < _NEAR
            apart = np.broadcast_to(one - two, errors.shape)[near]
            weight += float((errors[near] * apart).sum() / max(1, (apart**2).sum()))
        found.append(weight)
        smooth[max(0, top - 3) : top + 4] = 0
    return found
