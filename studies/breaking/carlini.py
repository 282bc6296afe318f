"""The attack of Carlini et al. with a small comparer, on a processor: what it gets back, and where it stays behind.

The private images are CIFAR-10's from 20,000 on, the public ones patches of Tiny-ImageNet, which the comparer is
trained on. Published, with ten hours of a GPU: Max SSIM 0.90 and 0.79 on the challenge of 100 images in 5,000 rows.
Comparers are kept in the user's cache folder.

    python studies/breaking_instahide.py --only carlini
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from breaking.judged import judged
from ledger import Trial

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import InstaHide
from hideseek.hide.files.schemes import to_json
from hideseek.seek import run
from hideseek.seek.rows.carlini import Carlini
from hideseek.seek.signals.patches import cut

FIRST, PUBLIC = 20_000, 4000
SEEDS = (0, 1, 2)
SIZES = {"cpu": (30, 20), "paper": (100, 50)}  # images and rounds
ATTACK = {"cpu": Carlini(steps=400, solve_steps=500), "paper": Carlini(steps=4500)}
SCHEMES = {"cross, k=4": InstaHide(k=4, k_private=2), "cross, k=6": InstaHide(k=6, k_private=2)}
METRICS = ("ssim", "fitted-ssim", "correlation", "absolute-correlation", "recovered", "auc")


def measured(scheme: InstaHide, scale: str, seed: int) -> dict[str, Any]:
    """Hide images of the seed's own, attack, and judge every guess and link."""
    images, rounds = SIZES[scale]
    first = FIRST + images * seed
    private = normalise(load("cifar10").take(slice(first, first + images)), "channel")
    patches = cut(load("tinyimagenet", labelled=False).take(slice(0, PUBLIC)), private.shape, seeded(7))
    release, secret = scheme.hide(private, normalise(patches, private.normalisation), seeded(seed), rounds)
    evidence = run(replace(ATTACK[scale]), release, seeded(seed + 10))
    return judged(evidence, secret, seed, METRICS)


def trials(scale: str) -> Iterator[Trial]:
    """Give every scheme with every seed."""
    for seed in SEEDS:
        for name, scheme in SCHEMES.items():
            images, rounds = SIZES[scale]
            settings = {
                "scheme": to_json(scheme),
                "steps": ATTACK[scale].steps,
                "images": images,
                "rounds": rounds,
                "first": FIRST + images * seed,
                "seed": seed,
            }
            run_it = partial(measured, scheme, scale, seed)
            yield Trial("carlini", f"carlini: {name}, seed {seed}", settings, run_it, judged=True)
