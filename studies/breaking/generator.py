"""Masks from a generator with a 32-bit seed: how soon the seed is found, and that hideseek's own masks have none.

The private images are CIFAR-10's from 20,000 on. At the scale of a CPU a part of all seeds is tried, around the right
one; hours for all 2³² follow from what a seed took. `--scale paper` tries all of them, with the right one anywhere.

    python studies/breaking_instahide.py --only generator
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from ledger import Trial

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import InstaHide
from hideseek.records import EncodedRelease, Masks
from hideseek.records.mixing_secret import MixingSecret
from hideseek.seek import run
from hideseek.seek.rows.generator import Generator
from hideseek.seek.systems.mersenne import SPACE, Draw, signs_from

FIRST, IMAGES = 20_000, 100
SEEDS = (0, 1, 2)
TRIED = {"cpu": 1 << 22, "paper": SPACE}
DRAWN: tuple[Draw | None, ...] = ("randint", "torch.rand", "numpy.rand", None)
SCHEMES = {"k=2": InstaHide(k=2), "k=4": InstaHide(k=4), "k=6": InstaHide(k=6)}


def remasked(
    release: EncodedRelease, secret: MixingSecret, seed: int, draw: Draw
) -> tuple[EncodedRelease, torch.Tensor]:
    """Put the rows under masks of NumPy's or torch's generator instead."""
    drawn = signs_from(seed, draw, 0, release.encoded.images.numel())
    signs = torch.from_numpy(drawn).view(release.encoded.images.shape)
    images = release.encoded.images * secret.signs() * signs
    return replace(release, encoded=replace(release.encoded, images=images)), signs


def measured(scheme: InstaHide, draw: Draw | None, tried: int, seed: int) -> dict[str, Any]:
    """Hide, search, and count the signs that are wrong."""
    private = normalise(load("cifar10").take(slice(FIRST, FIRST + IMAGES)), "channel")
    release, secret = scheme.hide(private, None, seeded(seed))
    right = int(seeded(seed + 50).integers(SPACE, 1)[0])
    signs = secret.signs()
    if draw is not None:
        release, signs = remasked(release, secret, right, draw)
    first = 0 if tried == SPACE else min(max(0, right - tried // 2), SPACE - tried)
    evidence = run(Generator(seeds=tried, first=first, draw=draw or "randint"), release, seeded(seed + 10))
    masks = next(claim for claim in evidence.claims if isinstance(claim, Masks))
    wrong = (1 - (masks.signs.float() * signs[: len(masks.rows)].float()).mean()) / 2
    return {
        "found": evidence.remarks.get("seed") == right,
        "wrong signs": float(wrong),
        "seconds": evidence.seconds,
        **{f"own: {name}": value for name, value in evidence.remarks.items()},
    }


def trials(scale: str) -> Iterator[Trial]:
    """Give every way to draw at k = 4, other k with the usual way, and hideseek's own masks."""
    for name, scheme in SCHEMES.items():
        for draw in DRAWN:
            if name != "k=4" and draw != "randint":
                continue
            for seed in SEEDS:
                settings = {"k": scheme.k, "draw": draw, "tried": TRIED[scale], "images": IMAGES, "seed": seed}
                what = f"generator: {name}, {draw or 'masks of hideseek'}, seed {seed}"
                yield Trial("generator", what, settings, partial(measured, scheme, draw, TRIED[scale], seed))
