"""Single rows of InstaHide whose public images are known: what comes back of the private ones.

The private images are CIFAR-10's from 20,000 on, the public ones random patches of Tiny-ImageNet; settings were chosen
on CIFAR-10's first thousand. A thousand private images are hidden once, and the first rows attacked, so that images are
re-identified among all of them. All rows count, also those whose images share a class.

    python studies/breaking/unmask_public.py
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
import tyro

sys.path.insert(0, str(Path(__file__).parents[1]))  # run by itself, beside the other studies' modules
from ledger import HERE, Ledger, Study, Trial, chosen

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import InstaHide
from hideseek.records import PublicImagesFound, Reconstruction, Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.score.judge import judge
from hideseek.seek import run
from hideseek.seek.rows.unmask_public import UnmaskPublic
from hideseek.seek.signals.patches import cut
from hideseek.similarity import correlation

FIRST, HIDDEN = 20_000, 1000  # private images: the first, and how many are hidden
ROWS = {"cpu": 100, "paper": 1000}
PUBLIC = 10_000
SEEDS = (0, 1, 2)
METRICS = ("recovered", "recovered-of-sure", "re-identified", "correlation", "fitted-ssim")
CASES = [(k, PUBLIC, SEEDS) for k in (4, 6)] + [(k, PUBLIC, SEEDS[:1]) for k in (3, 5, 7, 8)]
CASES += [(k, count, SEEDS[:1]) for k in (4, 6) for count in (1000, 50_000)]


@cache
def patches(count: int) -> Samples:
    """Cut a patch from each of so many images."""
    images = load("tinyimagenet", labelled=False).take(slice(0, count))
    return replace(cut(images, (3, 32, 32), seeded(3)), cut_from=None)


def measured(k: int, count: int, rows: int, seed: int) -> dict[str, Any]:
    """Hide, unmask the first rows, and judge every guess."""
    private = normalise(load("cifar10").take(slice(FIRST, FIRST + HIDDEN)), "channel")
    public = normalise(patches(count), private.normalisation)
    release, secret = InstaHide(k=k, k_private=2).hide(private, public, seeded(seed))
    evidence = run(UnmaskPublic(rows=rows), replace(release, public=public), seeded(seed + 10))
    scores = {score.metric: score.values for score in judge(evidence, secret, seeded(seed + 20), METRICS).scores}
    images, found = evidence.claims
    assert isinstance(images, Reconstruction)  # noqa: S101 (for the type checker)
    assert isinstance(found, PublicImagesFound)  # noqa: S101
    hits = (found.candidates[:, :, None] == secret.public_sources[:rows, None]).any(2).float()
    return {
        **{name: float(values.nanmean()) for name, values in scores.items() if name in METRICS},
        **of_mixtures(images, private, secret, rows),
        "public images found": float(hits.mean()),
        "all of a row found": float((hits.mean(1) == 1).float().mean()),
        "seconds a row": evidence.seconds / rows,
        **{f"own: {name}": value for name, value in evidence.remarks.items()},
    }


def of_mixtures(images: Reconstruction, private: Samples, secret: MixingSecret, rows: int) -> dict[str, float]:
    """Compare what is left of a row with its private mixture, and pick its heavier image among all private ones."""
    weights, sources = secret.weights[:rows, :2, None, None, None], secret.sources[:rows]
    mixed = (weights * private.pixels(sources.flatten()).view(rows, 2, *private.shape)).sum(1)
    guesses = images.images.view(rows, 2, *private.shape)  # two images, or the mixture twice
    orders = [correlation(mixed, (weights * each).sum(1)) for each in (guesses, guesses.flip(1))]
    gallery, flat = private.pixels().flatten(1), guesses.flatten(2)
    gallery, flat = (each - each.mean(-1, keepdim=True) for each in (gallery, flat))
    nearest = (flat @ torch.nn.functional.normalize(gallery).T).argmax(2)
    heavier = sources.gather(1, secret.weights[:rows, :2].argmax(1, keepdim=True))
    return {
        "median correlation of the mixture": float(torch.maximum(*orders).median()),
        "heavier image re-identified": float((nearest == heavier).any(1).float().mean()),
    }


def trials(scale: str) -> Iterator[Trial]:
    """Give every number of images in a row and in the public set, with every seed."""
    for k, count, seeds in CASES:
        for seed in seeds:
            settings = {"k": k, "public": count, "rows": ROWS[scale], "first": FIRST, "hidden": HIDDEN, "seed": seed}
            run_it = partial(measured, k, count, ROWS[scale], seed)
            yield Trial("unmask-public", f"k={k}, N={count}, seed {seed}", settings, run_it, judged=True)


def main() -> None:
    """Measure what is missing."""
    asked = tyro.cli(Study, description=__doc__)
    path = asked.json or HERE / "results" / f"breaking-unmask-{asked.scale}.json"
    Ledger.open(path, "Single rows, public images known").measure(chosen(trials(asked.scale), asked.only), asked.stale)


if __name__ == "__main__":
    main()
