"""Exact weights from flat places: where two neighbouring pixels of a private image are equal, it drops out.

Images are stored in bytes, so neighbouring pixels are often exactly equal. There the difference of a row's two pixels
is Σ_j λ_j (difference of public image j), to the last bit, and the private image has no part in it. Weights that make
many such differences vanish at once are the true ones: chance does not do that.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from hideseek.chance import Randomness
from hideseek.records import Samples, Task
from hideseek.seek.work import CALL, DOUBLE, LOOKUP, TOUCH

Array = NDArray[np.float64]

PAIRS = 800  # of a row, where what remains is smoothest
DRAWN_FROM = (60, 150, 400)  # the smoothest of them, from which guesses are drawn
TRIES = 2000
CHUNK = 1024  # images that are looked at together
SURE = 10  # exact coincidences, in every image: wrong images have seldom more than four
_ROUNDING = 8 * 2.0**-24  # of the largest value of a row


@dataclass(frozen=True)
class Pairs:
    """Neighbouring pixels of one row, the smoothest first: where they are, and their differences."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    differences: Array
    tolerance: float

    def of(self, images: Float[Tensor, "j pixels"]) -> NDArray[np.float32]:
        """Give the same differences of images."""
        values: NDArray[np.float32] = images.numpy()
        return values[:, self.first] - values[:, self.second]


def smoothest(row: Float[Tensor, "c h w"], remaining: Float[Tensor, "c h w"]) -> Pairs:
    """Choose the pairs around which what remains of a row changes least."""
    places = torch.arange(row.numel()).view_as(row)
    across, down = remaining[..., 1:] - remaining[..., :-1], remaining[:, 1:] - remaining[:, :-1]
    energy = functional.pad(across.square(), (0, 1)) + functional.pad(down.square(), (0, 0, 0, 1))
    local = functional.avg_pool2d(functional.pad(energy[None], (1,) * 4, mode="replicate"), 3, stride=1)[0]
    changes = torch.cat([local[..., :-1].flatten(), local[:, :-1].flatten()])
    first = torch.cat([places[..., :-1].flatten(), places[:, :-1].flatten()])
    second = torch.cat([places[..., 1:].flatten(), places[:, 1:].flatten()])
    chosen = changes.argsort()[:PAIRS]
    a, b = first[chosen].numpy(), second[chosen].numpy()
    values = row.flatten().double().numpy()
    return Pairs(a, b, values[a] - values[b], _ROUNDING * float(np.abs(values).max()))


def exact_weights(
    pairs: Pairs, images: Float[Tensor, "j pixels"], mass: float | None, chance: Randomness, tries: int = TRIES
) -> tuple[Array, int]:
    """Guess the weights of images by random sample consensus: j pairs give a guess, all pairs judge it.

    With `mass`, the sum of the weights, one pair fewer is enough. Returns the best guess, and how many pairs confirm
    it in each image: of the pairs that it explains exactly, those where the image itself changes, for the image that
    has fewest.
    """
    seen = pairs.of(images).astype(np.float64)
    best, most = np.zeros(len(seen)), 0
    if not len(pairs.first):  # features have no neighbours
        return best, 0
    judges = slice(0, max(DRAWN_FROM))
    for reach in DRAWN_FROM:
        for start in range(0, tries, TRIES):
            guesses = _guesses(pairs.differences[:reach], seen[:, :reach], mass, chance, min(TRIES, tries - start))
            exact = np.abs(pairs.differences[judges] - guesses @ seen[:, judges]) < pairs.tolerance
            count = exact.sum(1)
            if len(count) and count.max() > most:
                best, most = guesses[count.argmax()], int(count.max())
    return best, _support(pairs, seen, best)


def exact_weights_work(count: int) -> float:
    """Count the guesses of the weights of so many images: small systems that are solved, and pairs that judge them."""
    solving = 10 * count * LOOKUP
    judging = max(DRAWN_FROM) * (count * DOUBLE + 3 * TOUCH)
    return len(DRAWN_FROM) * (TRIES * (solving + judging) + 20 * CALL)


def missing_one_work(task: Task) -> float:
    """Count a search among all public images: their pixels are read, and their differences compared."""
    return task.public * (2 * task.pixels + 5 * PAIRS) * TOUCH


def _guesses(differences: Array, seen: Array, mass: float | None, chance: Randomness, tries: int) -> Array:
    """Solve for the weights at as many pairs as there are unknown ones, many times; keep what weights can be."""
    if mass is not None:  # the last weight is what the others leave
        differences, seen = differences - mass * seen[-1], seen[:-1] - seen[-1]
    drawn = chance.integers(len(differences), tries, len(seen)).numpy()
    systems = seen.T[drawn]
    sizes = np.abs(np.linalg.det(systems))
    solvable = sizes > 1e-3 * np.median(sizes)
    solved = np.linalg.solve(systems[solvable], differences[drawn[solvable]][..., None])[..., 0]
    if mass is not None:
        solved = np.hstack([solved, mass - solved.sum(1, keepdims=True)])
    possible: Array = solved[(solved > 0).all(1) & (solved.sum(1) <= (mass or 1.0) + 1e-6)]
    return possible


def _support(pairs: Pairs, seen: Array, weights: Array) -> int:
    """Count the pairs that weights explain exactly and where an image changes, for the image that has fewest."""
    exact = np.abs(pairs.differences - weights @ seen) < pairs.tolerance
    return int((exact & (np.abs(seen) > pairs.tolerance)).sum(1).min())


def missing_one(pairs: Pairs, known: Float[Tensor, "j pixels"], weights: Array, left: float, images: Samples) -> int:
    """Find the image that is missing beside known ones of exact weights, among all; what is left is its weight."""
    rest = (pairs.differences - weights @ pairs.of(known)).astype(np.float32)
    best, most = 0, 0
    for start in range(0, len(images), CHUNK):
        seen = pairs.of(images.pixels(slice(start, start + CHUNK)).flatten(1))
        exact = (np.abs(rest - np.float32(left) * seen) < 2 * pairs.tolerance) & (np.abs(seen) > pairs.tolerance)
        count = exact.sum(1)
        if count.max() > most:
            best, most = start + int(count.argmax()), int(count.max())
    return best
