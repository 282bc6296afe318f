"""Single rows of InstaHide whose public images are known: what comes back of the private ones.

The private images are CIFAR-10's from 20,000 on, the public ones random patches of Tiny-ImageNet; settings were chosen
on CIFAR-10's first thousand. A thousand private images are hidden once, and the first rows attacked, so that images are
re-identified among all of them. All rows count, also those whose images share a class.

    python studies/breaking_instahide.py --only unmask-public
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any

import torch
from breaking.tables import Curve, Plot, Target
from ledger import Trial

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
ROWS, FEWER = {"cpu": 60, "paper": 1000}, {"cpu": 30, "paper": 1000}  # with three seeds, and with one
PUBLIC = 10_000
SEEDS: tuple[int, ...] = (0, 1, 2)
METRICS = ("recovered", "recovered-of-sure", "re-identified", "correlation", "fitted-ssim")
MANY, SIZES = (3, 4, 5, 6, 7, 8), (1000, 3000, PUBLIC, 100_000)
CASES = [(k, PUBLIC, ROWS, SEEDS) for k in (4, 6)]
CASES += [(k, PUBLIC, FEWER, SEEDS[:1]) for k in MANY if k not in (4, 6)]
CASES += [(k, count, FEWER, SEEDS[:1]) for count in SIZES if count != PUBLIC for k in (4, 6)]
MIXTURE, HEAVIER = "median correlation of the mixture", "heavier image re-identified"
TARGETS = (
    Target(
        "unmask-public", "cross, k=4, N=10,000, one row", "unmask: k=4, N=10000", "recovered", 70, "%", "46–48 %",
        "N^(k−2) tries",
    ),
    Target(
        "unmask-public", "cross, k=6, N=10,000, one row", "unmask: k=6, N=10000", MIXTURE, 0.75, "", "0.60",
        "hit rate 0.05",
    ),
    Target("unmask-public", "cross, k=6, among 1,000 images", "unmask: k=6, N=10000", HEAVIER, 30, "%"),
)  # fmt: skip
FIGURES = ("recovered", MIXTURE, HEAVIER, "public images found")
PLOTS = (
    Plot(
        "unmask-k", "unmask-public: one row, 10,000 public images", "k, images in a row", "share, or correlation",
        [Curve(name, {k: f"unmask: k={k}, N={PUBLIC}" for k in MANY}, name) for name in FIGURES],
    ),
    Plot(
        "unmask-N", "unmask-public: one row, more public images", "N, public images", "share, or correlation",
        [
            Curve(f"{name}, k={k}", {count: f"unmask: k={k}, N={count}" for count in SIZES}, name)
            for k in (4, 6) for name in FIGURES[:2]
        ],
        logarithmic=True,
    ),
)  # fmt: skip


@cache
def patches(count: int) -> Samples:
    """Cut a patch from each of so many images; where there are fewer, several from each."""
    images = load("tinyimagenet", labelled=False).take(slice(0, count))
    each = -(-count // len(images))
    parts = [cut(images, (3, 32, 32), seeded(3 + number)) for number in range(each)]
    pixels = torch.cat([part.images for part in parts])[:count]
    return replace(parts[0], images=pixels, labels=torch.empty(count, 0), cut_from=None)


def measured(k: int, count: int, rows: int, seed: int) -> dict[str, Any]:
    """Hide, unmask the first rows, and judge every guess."""
    private = normalise(load("cifar10").take(slice(FIRST, FIRST + HIDDEN)), "channel")
    public = normalise(patches(count), private.normalisation)
    release, secret = InstaHide(k=k, k_private=2).hide(private, public, seeded(seed))
    run(UnmaskPublic(rows=1), replace(release, public=public.take(slice(0, 100))), seeded(0))  # compiles
    started = time.process_time()
    evidence = run(UnmaskPublic(rows=rows), replace(release, public=public), seeded(seed + 10))
    processor = time.process_time() - started
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
        "processor seconds a row": processor / rows,
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
        MIXTURE: float(torch.maximum(*orders).median()),
        HEAVIER: float((nearest == heavier).any(1).float().mean()),
    }


def trials(scale: str) -> Iterator[Trial]:
    """Give every number of images in a row and in the public set, with every seed."""
    for k, count, rows, seeds in CASES:
        for seed in seeds:
            settings = {"k": k, "public": count, "rows": rows[scale], "first": FIRST, "hidden": HIDDEN, "seed": seed}
            run_it = partial(measured, k, count, rows[scale], seed)
            yield Trial("unmask-public", f"unmask: k={k}, N={count}, seed {seed}", settings, run_it, judged=True)
