"""How many values a pixel of two mixed images can have, given one row: images are bytes and labels show the weights.

A pixel of a row is σ (w₁(s b₁ + t) + w₂(s b₂ + t)), with s and t of the normalisation, which are public, the bytes b₁
and b₂, and a sign σ where there is a mask. A solution is a pair of bytes (and a sign) that gives the row's value to the
rounding of its numbers: 24 bits of a float32, 11 of a float16. Of several solutions the nearest is taken.

    python benchmarks/byte_solutions.py --json benchmarks/results/byte_solutions.json
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
import tyro
from numpy.typing import NDArray

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import InstaHide, Mixup, RecipeEncoder

Array = NDArray[np.float64]
ROWS, FEWEST = 60, 10  # rows that are solved; quickly
SCHEMES: dict[str, RecipeEncoder] = {"mixup, k=2": Mixup(k=2, largest=0.9), "instahide, k=2": InstaHide(k=2)}
ROUNDING = {"float32": 2.0**-24, "float16": 2.0**-11}
SLACK = 8  # roundings: of the row, of both images and products, of the weights in the label


@dataclass(frozen=True)
class Options:
    """Count the byte solutions of pixels of CIFAR-10."""

    json: Path | None = None
    """Write the figures to this file."""
    quick: bool = False
    """Solve fewer rows."""


@dataclass(frozen=True)
class Found:
    """What the rows of one scheme, stored in one way, give away."""

    solutions: float
    """Of a pixel, on average."""
    contained: float
    """The share of pixels whose true bytes are among them."""
    right: float
    """The share of pixels for which the nearest solution is the truth."""


def solve(values: Array, weights: Array, scale: float, shift: float, error: float, masked: bool, truth: Array) -> Found:
    """Solve w₁b₁ + w₂b₂ = (±v − t) / s for bytes, one channel of a row, for every b₁ at once."""
    bytes_ = np.arange(256.0)
    count, contained = np.zeros(len(values)), np.zeros(len(values), bool)
    nearest, answer = np.full(len(values), np.inf), np.zeros((2, len(values)))
    for sign in (1.0, -1.0) if masked else (1.0,):
        target = (sign * values - shift * weights.sum()) / scale
        second = (target[:, None] - weights[0] * bytes_) / weights[1]
        whole = np.rint(second)
        missed = np.where((whole >= 0) & (whole <= 255), np.abs(second - whole) * weights[1], np.inf)
        close = missed <= error / scale
        count += close.sum(1)
        contained |= (close & (bytes_ == truth[0][:, None]) & (whole == truth[1][:, None])).any(1)
        best = missed.argmin(1)
        least = missed[np.arange(len(values)), best]
        found = np.stack([bytes_[best], whole[np.arange(len(values)), best]])
        answer = np.where(least < nearest, found, answer)
        nearest = np.minimum(nearest, least)
    return Found(count.mean(), contained.mean(), (answer == truth).all(0).mean())


def measured(scheme: RecipeEncoder, stored: str, rows: int) -> Found:
    """Solve the first rows whose two images have different classes, so that labels show the weights."""
    private = normalise(load("cifar10").take(slice(0, 200)), "channel")
    release, secret = scheme.hide(private, None, seeded(0))
    two = ((release.encoded.labels > 0).sum(1) == 2).nonzero()[:rows, 0]
    found = []
    for row in two.tolist():
        sources = secret.sources[row]
        shown = release.encoded.labels[row][private.labels[sources].argmax(1)].double().numpy()
        values = release.encoded.pixels(slice(row, row + 1))[0].to(getattr(torch, stored)).double().flatten(1).numpy()
        for channel, (mean, std) in enumerate(zip(private.normalisation.mean, private.normalisation.std, strict=True)):
            scale, shift = 1 / (255 * std), -mean / std
            error = SLACK * ROUNDING[stored] * max(1.0, float(np.abs(values).max()))
            truth = private.images[sources, channel].flatten(1).double().numpy()
            found.append(solve(values[channel], shown, scale, shift, error, scheme.masked, truth))
    return Found(*(float(np.mean([getattr(each, name) for each in found])) for name in asdict(found[0])))


def main() -> None:
    """Measure, print, and write."""
    options = tyro.cli(Options, description=__doc__)
    results = {}
    for name, scheme in SCHEMES.items():
        for stored in ROUNDING:
            found = measured(scheme, stored, FEWEST if options.quick else ROWS)
            results[f"{name}, {stored}"] = {key: round(value, 4) for key, value in asdict(found).items()}
            print(
                f"{name}, rows as {stored}: {found.solutions:.2f} solutions a pixel, the truth among them in"
                f" {found.contained:.1%}, the nearest right in {found.right:.1%}"
            )
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
