"""Masks undone from rows alone: each image hidden once, no label, no public image, no image of the attacker's own.

What comes back is the mixture of a row, so images are picked by it, not recovered. Settings were chosen on CIFAR-10's
first thousand and on the embedded faces; figures are of CIFAR-10 from 20,000 on, and of X-rays from 3,000 on.

    python studies/breaking_instahide.py --only smooth-signs
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from breaking.judged import judged
from breaking.tables import figures
from ledger import Ledger, Trial, table

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import Coarse, InstaHide, RecipeEncoder
from hideseek.hide.files.schemes import to_json
from hideseek.records import Reconstruction
from hideseek.seek import ATTACKS, run
from hideseek.similarity import correlation

SEEDS = (0, 1, 2)
FIRSTS = {"cifar10": 20_000, "pneumoniamnist": 3000, "faces": 0}
INSIDE, CROSS = InstaHide(k=4), InstaHide(k=4, k_private=2)
CASES: dict[str, tuple[str, RecipeEncoder]] = {
    "160 X-rays, inside k=4": ("pneumoniamnist", INSIDE),
    "160 faces, inside k=4": ("faces", INSIDE),
    "160 faces, inside k=4, int8 rows and drawn labels": ("faces", Coarse(INSIDE, labels="drawn", rows="int8")),
    "160 of CIFAR-10, inside k=4": ("cifar10", INSIDE),
    "160 of CIFAR-10, cross k=4": ("cifar10", CROSS),
}
IMAGES, MIXTURE, CLOSE = 160, "median correlation with the mixture, either sign", "mixtures at 0.9"
FIGURES = (MIXTURE, CLOSE, "re-identified", "fitted-ssim", "seconds")


def measured(address: str, scheme: RecipeEncoder, seed: int) -> dict[str, Any]:
    """Hide every image once, undo the masks, and compare with what was masked."""
    first = FIRSTS[address]
    private = normalise(load(address).take(slice(first, first + IMAGES)), "channel")
    public = None
    if scheme.mixes_public:
        patches = load("patches:tinyimagenet", size=private.shape[1:], labelled=False)
        public = normalise(replace(patches.take(slice(0, 10_000)), cut_from=None), private.normalisation)
    release, secret = scheme.hide(private, public, seeded(seed))
    evidence = run(ATTACKS["smooth-signs"], release, seeded(seed + 10))
    (claim,) = evidence.claims
    assert isinstance(claim, Reconstruction)  # noqa: S101 (for the type checker)
    alike = correlation(claim.images.abs() * secret.signs() * release.encoded.pixels().sign(), claim.images).abs()
    close = {MIXTURE: float(alike.median()), CLOSE: float((alike >= 0.9).float().mean())}
    return judged(evidence, secret, seed, ("recovered", "re-identified", "fitted-ssim", "correlation")) | close


def trials(scale: str) -> Iterator[Trial]:
    """Give every case with every seed."""
    for name, (address, scheme) in CASES.items():
        for seed in SEEDS:
            settings = {"data": address, "scheme": to_json(scheme), "images": IMAGES, "seed": seed}
            run_it = partial(measured, address, scheme, seed)
            yield Trial("smooth-signs", f"smooth: {name}, seed {seed}", settings, run_it, judged=True)


def smooth(ledger: Ledger) -> str:
    """Write what came back, a row for each case."""
    rows = []
    for name in CASES:
        values = [figures(ledger, f"smooth: {name}", figure) for figure in FIGURES]
        means = [torch.tensor(each).mean().item() if each else None for each in values]
        rows.append([name, *("–" if mean is None else f"{mean:.2f}" for mean in means)])
    return table(["case", *FIGURES], rows)
