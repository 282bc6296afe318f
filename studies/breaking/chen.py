"""Gaussian images from absolute values (Chen et al. 2021), and photographs, where the same attack finds nothing.

Fifty images in 400 rows of two, and a hundred in 900. An image is found if the correlation of absolute values with a
guess, matched one to one, is 0.9 or more: a pixel's sign, for all images at once, cannot be known.

    python studies/breaking_instahide.py --only chen
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from breaking.tables import Target
from ledger import Trial
from scipy.optimize import linear_sum_assignment

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import InstaHide, PairInstaHide, RecipeEncoder
from hideseek.hide.files.schemes import to_json
from hideseek.records import Reconstruction, Samples
from hideseek.seek import refusal, run
from hideseek.seek.rows.chen import Chen

FIRST = 20_000  # private image, of photographs
SEEDS = (0, 1, 2)
SIZES = {"n=50, m=400": (50, 8), "n=100, m=900": (100, 9)}
SCHEMES: dict[str, RecipeEncoder] = {
    "equal weights": PairInstaHide(0.5),
    "random weights, largest 0.65": InstaHide(k=2),
    "random weights": InstaHide(k=2, largest=1.0),
}
TARGETS = tuple(
    Target(
        "chen", f"Gaussian images, n=50, m=400, d=3,072, {law}", f"chen: Gaussian images, n=50, m=400, {law}",
        "images found", asked, "images", prototype, "theory",
    )
    for law, asked, prototype in (("equal weights", 50, "50 of 50"), ("random weights", 40, "41 of 50"))
)  # fmt: skip


def private_images(kind: str, count: int, seed: int) -> Samples:
    """Give Gaussian images, or photographs."""
    if kind == "photographs":
        return normalise(load("cifar10").take(slice(FIRST, FIRST + count)), "channel")
    return Samples(seeded(seed + 100).normals(count, 3, 32, 32), torch.eye(10)[torch.arange(count) % 10])


def measured(scheme: RecipeEncoder, kind: str, count: int, rounds: int, seed: int) -> dict[str, Any]:
    """Hide, attack, and compare with the truth."""
    release, secret = scheme.hide(private_images(kind, count, seed), None, seeded(seed), rounds)
    refused = refusal(Chen(), release)
    evidence = run(Chen(anyway=True), release, seeded(seed + 10))
    claims = [claim for claim in evidence.claims if isinstance(claim, Reconstruction)]
    found = 0
    if claims:
        guesses, truth = (each.flatten(1).abs().numpy() for each in (claims[0].images, secret.private.pixels()))
        alike = np.corrcoef(truth, guesses)[: len(truth), len(truth) :]
        found = int((alike[linear_sum_assignment(-alike)] >= 0.9).sum())
    return {
        "images found": found,
        "of": count,
        "seconds": evidence.seconds,
        "refused": "" if refused is None else str(refused),
        **{f"own: {name}": value for name, value in evidence.remarks.items()},
    }


def trials(scale: str) -> Iterator[Trial]:
    """Give every size and law of weights with every seed; photographs at the first size."""
    for kind in ("Gaussian images", "photographs"):
        for size, (count, rounds) in SIZES.items():
            for name, scheme in SCHEMES.items():
                if kind == "photographs" and (count != 50 or name == "random weights"):
                    continue
                for seed in SEEDS:
                    settings = {"scheme": to_json(scheme), "images": kind, "n": count, "rounds": rounds, "seed": seed}
                    run_it = partial(measured, scheme, kind, count, rounds, seed)
                    yield Trial("chen", f"chen: {kind}, {size}, {name}, seed {seed}", settings, run_it)
