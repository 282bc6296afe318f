"""Masks that come from a generator with a 32-bit seed: the seed is searched for, and takes all masks off."""

import math
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from typing import ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.progress import track
from hideseek.records import Attack, EncodedRelease, Evidence, Masks, Reason, Reconstruction, Refusal, Refused, Task
from hideseek.records.result.figures import Harm
from hideseek.seek.run import check
from hideseek.seek.systems.mersenne import DRAWS, MOST_OUTPUTS, SPACE, Draw, signs_from, smooth_seeds
from hideseek.seek.work import TOUCH, largest

PIXELS = 96  # of the first row, whose signs are drawn for every seed
LEAST_PIXELS = 48
KEPT = 3.7  # deviations, from which a seed is looked at closely: one in 10,000 by chance
SURE = 8.0  # deviations over a whole row: by chance in one of 10¹⁵ seeds
TILE = 1 << 16  # seeds that one thread tries at a time
SHOWN = 2000  # rows, at most, that are claimed
STEEP = 4.0  # how soon a product of neighbours counts in full, in its mean
PER_SEED = 40  # passes over words, for a seed

Order = Literal["chw", "hwc"]


@dataclass(frozen=True)
class Generator(Attack[EncodedRelease]):
    """Search the 32-bit seed of a generator that drew all masks, row after row, and take the masks off.

    x̃_r = σ_r ∘ z_r, and σ_1, σ_2, … follow from one seed. NumPy's and torch's usual generators have 2³² seeds. Under
    the right one neighbouring pixels of the first row agree in sign, as those of images do; under any other by chance
    alone. hideseek's own masks have keys of 256 bits from the operating system, so that nothing is found there. Where
    images were drawn, or weights, before the masks, `before` counts their outputs.
    """

    sees: ClassVar = EncodedRelease
    source: ClassVar = "the challenge's generator attack (Carlini et al. 2020); the search is ours"
    shows: ClassVar = Harm.RECOVERED

    seeds: int = 1 << 22
    """How many seeds are tried; there are 2³²."""
    first: int = 0
    """The first of them."""
    draw: Draw = "randint"
    """How a sign was drawn."""
    order: Order = "chw"
    """The order in which a row's pixels were drawn: c × h × w, or h × w × c."""
    ones: Literal["plus", "minus"] = "plus"
    """The sign that a bit of 1 became: rows do not tell, since a negative is as smooth as its picture."""
    before: int = 0
    """Outputs of the generator that were drawn before the first mask."""

    def __post_init__(self) -> None:
        if not (0 <= self.first < SPACE and 1 <= self.seeds <= SPACE - self.first):
            raise BadInput("seeds are numbers from 0 to 2³² − 1: try one or more of these.")
        if not 0 <= self.before <= MOST_OUTPUTS - DRAWS[self.draw].outputs * LEAST_PIXELS:
            raise BadInput(f"before must be between 0 and {MOST_OUTPUTS - DRAWS[self.draw].outputs * LEAST_PIXELS}.")

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        """Try the seeds, confirm the best on the whole first row, and draw all masks again."""
        check(self, release)
        row = self._ordered(release.encoded.pixels(slice(0, 1))[0].numpy())
        weights = _weights(row, self._lag(release), row.shape[-1] if self.order == "chw" else row[0].size)
        lag = row.size - len(weights)
        run = weights[: self._run(row.size) - lag]
        length = float(np.sqrt(np.square(run).sum()))
        if not 0 < length < math.inf:
            raise Refused(Refusal(Reason.UNUSABLE_VALUES))
        started = time.monotonic()
        tried = self._search(run.astype(np.float32), lag, KEPT * length)
        each = (time.monotonic() - started) / self.seeds
        scored = [(self._agreement(seed, row, weights), seed) for seed in tried]
        best, seed = max(scored, default=(0.0, -1))
        remarks: dict[str, float | int | str] = {
            "seeds tried": self.seeds,
            "seeds looked at closely": len(tried),
            "deviations": best,
            "hours for all seeds": each * SPACE / 3600,
        }
        if best < SURE:
            rows = torch.arange(min(len(release.encoded), SHOWN))
            remarks["found"] = "no seed"
            left_open = torch.zeros(len(rows), *release.encoded.shape, dtype=torch.int8)
            return Evidence((Masks(rows, left_open),), remarks)
        remarks["seed"] = seed
        return Evidence(self._unmasked(seed, release), remarks)

    def _unmasked(self, seed: int, release: EncodedRelease) -> tuple[Masks, Reconstruction]:
        """Draw the masks of the rows again, and take them off."""
        count, (channels, height, width) = min(len(release.encoded), SHOWN), release.encoded.shape
        drawn = signs_from(seed, self.draw, self.before, count * channels * height * width)
        shaped = torch.from_numpy(drawn if self.ones == "plus" else -drawn)
        if self.order == "hwc":
            signs = shaped.view(count, height, width, channels).permute(0, 3, 1, 2).contiguous()
        else:
            signs = shaped.view(count, channels, height, width)
        rows = torch.arange(count)
        pixels = release.encoded.pixels(rows) * signs
        return Masks(rows, signs), Reconstruction(pixels, rows, "items")

    def _search(self, weights: NDArray[np.float32], lag: int, least: float) -> list[int]:
        """Try all seeds, in tiles, on as many threads as torch has."""
        bit, outputs = DRAWS[self.draw]

        def tile(first: int) -> list[int]:
            found = np.empty(TILE // 16, np.int64)
            count = min(TILE, self.first + self.seeds - first)
            kept = smooth_seeds(first, count, weights, bit, outputs, self.before, lag, least, found)
            return [int(seed) for seed in found[:kept]]

        starts = iter(range(self.first, self.first + self.seeds, TILE))
        found: list[int] = []
        threads = torch.get_num_threads()
        with ThreadPoolExecutor(threads) as pool:
            for _ in track(range(-(-self.seeds // (TILE * 4 * threads))), "trying seeds"):
                for some in pool.map(tile, islice(starts, 4 * threads)):
                    found += some
        return found

    def _agreement(self, seed: int, row: NDArray[np.float32], weights: NDArray[np.float64]) -> float:
        """Tell by how many deviations neighbours of the whole first row agree under a seed."""
        signs = signs_from(seed, self.draw, self.before, row.size).astype(np.float64)
        lag = row.size - len(weights)
        agreed = (weights * signs[lag:] * signs[:-lag]).sum()
        return float(agreed / np.sqrt(np.square(weights).sum()))

    def _ordered(self, row: NDArray[np.float32]) -> NDArray[np.float32]:
        """Give a row with its pixels in the order that they were drawn in."""
        return np.ascontiguousarray(row.transpose(1, 2, 0) if self.order == "hwc" else row)

    def _lag(self, release: EncodedRelease) -> int:
        """Tell how far apart in the order of drawing two neighbours of one colour are."""
        return release.encoded.shape[0] if self.order == "hwc" else 1

    def _run(self, pixels: int) -> int:
        """Tell how many pixels' signs are drawn for every seed."""
        return min(PIXELS, pixels, (MOST_OUTPUTS - self.before) // DRAWS[self.draw].outputs)

    def refuses(self, release: EncodedRelease) -> Refusal | None:
        """Refuse rows without a mask, and rows that are too short to tell seeds apart."""
        if not release.scheme.masked:
            return Refusal(Reason.NOT_MASKED)
        pixels = math.prod(release.encoded.shape)
        if min(release.encoded.shape[1:]) < 2 or pixels < LEAST_PIXELS:
            return Refusal(Reason.TOO_FEW_PIXELS, {"given": pixels, "wanted": LEAST_PIXELS})
        return None

    def work(self, task: Task) -> float:
        """Count the words that are filled and mixed for every seed."""
        return float(self.seeds) * (MOST_OUTPUTS + PIXELS) * PER_SEED * TOUCH / 100

    def within(self, work: float, task: Task) -> Self:
        """Try fewer seeds."""
        return replace(self, seeds=largest(lambda seeds: replace(self, seeds=seeds).work(task), 1, self.seeds, work))


def _weights(row: NDArray[np.float32], lag: int, line: int) -> NDArray[np.float64]:
    """Weigh every two neighbours: the sign of their product, less where it is small, 0 where a line ends."""
    flat = row.reshape(-1).astype(np.float64)
    largest_pixel = float(np.abs(flat).max())
    flat = flat / largest_pixel if 0 < largest_pixel < math.inf else np.zeros_like(flat)
    products = flat[lag:] * flat[:-lag]
    mean = float(np.abs(products).mean())
    weights: NDArray[np.float64] = np.tanh(STEEP * products / mean) if mean > 0 else products
    weights[np.arange(lag, flat.size) % line < lag] = 0.0
    return weights
