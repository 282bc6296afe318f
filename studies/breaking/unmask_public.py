"""Single rows of InstaHide whose public images are known: what comes back of the private ones.

The private images are CIFAR-10's from 20,000 on, the public ones random patches of Tiny-ImageNet; settings were chosen
on CIFAR-10's first thousand. A thousand private images are hidden once, and the first rows attacked, so that images are
re-identified among all of them. All rows count, also those whose images share a class.

    python studies/breaking_instahide.py --only unmask-public
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

import torch
from breaking.tables import Curve, Plot, Target, figures
from ledger import Ledger, Trial

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import Coarse, InstaHide, RecipeEncoder
from hideseek.records import EncodedRelease, LabelKind, PublicImagesFound, Reconstruction, RowType, Samples
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
LARGER = {"cpu": (20, 10_000), "paper": (1000, 100_000)}  # rows, and larger images that patches are cut from
LABELS: dict[str, tuple[LabelKind | None, RowType]] = {
    "rounded": ("rounded", "float32"),
    "drawn": ("drawn", "float32"),
    "withheld": (None, "float32"),
    "rounded, float16": ("rounded", "float16"),
}  # labels that tell less, or none, and rows
IMAGENET, CHALLENGE = 1_281_167, 5000  # images, and rows of InstaHide's challenge
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


def hidden(
    k: int, count: int, seed: int, labels: LabelKind | None = "exact", rows: RowType = "float32"
) -> tuple[Samples, EncodedRelease, MixingSecret]:
    """Hide private images; the attacker has the public ones. Labels of None are withheld."""
    private = normalise(load("cifar10").take(slice(FIRST, FIRST + HIDDEN)), "channel")
    public = normalise(patches(count), private.normalisation)
    scheme: RecipeEncoder = InstaHide(k=k, k_private=2)
    if (labels or "exact", rows) != ("exact", "float32"):
        scheme = Coarse(scheme, labels=labels or "exact", rows=rows)
    release, secret = scheme.hide(private, public, seeded(seed))
    if labels is None:
        bare = replace(release.encoded, labels=torch.empty(len(release.encoded), 0), classes=())
        release = replace(release, encoded=bare)
    return private, replace(release, public=public), secret


def in_patches(k: int, count: int, rows: int, seed: int) -> dict[str, Any]:
    """Hide with patches of larger images, of which the attacker knows the images, and not the places."""
    private, release, secret = hidden(k, count, seed)
    large = normalise(load("tinyimagenet", labelled=False).take(slice(0, count)), private.normalisation)
    return measured(private, replace(release, public=large), secret, rows, seed)


def of_labels(k: int, kind: str, rows: int, seed: int) -> dict[str, Any]:
    """Hide with labels that tell less."""
    return measured(*hidden(k, PUBLIC, seed, *LABELS[kind]), rows, seed)


def of_size(k: int, count: int, rows: int, seed: int) -> dict[str, Any]:
    """Hide with so many public images."""
    return measured(*hidden(k, count, seed), rows, seed)


def measured(private: Samples, release: EncodedRelease, secret: MixingSecret, rows: int, seed: int) -> dict[str, Any]:
    """Unmask the first rows, and judge every guess."""
    assert release.public is not None  # noqa: S101 (for the type checker)
    run(UnmaskPublic(rows=1), replace(release, public=release.public.take(slice(0, 100))), seeded(0))  # compiles
    started = time.process_time()
    evidence = run(UnmaskPublic(rows=rows), release, seeded(seed + 10))
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
    """Give every number of images in a row and in the public set, with every seed; larger images; and labels."""
    settings: dict[str, Any]
    for k, count, rows, seeds in CASES:
        for seed in seeds:
            settings = {"k": k, "public": count, "rows": rows[scale], "first": FIRST, "hidden": HIDDEN, "seed": seed}
            run_it = partial(of_size, k, count, rows[scale], seed)
            yield Trial("unmask-public", f"unmask: k={k}, N={count}, seed {seed}", settings, run_it, judged=True)
    some, count = LARGER[scale]
    for k in (3, 4):
        settings = {"k": k, "larger": count, "rows": some, "first": FIRST, "hidden": HIDDEN, "seed": 0}
        name = f"unmask: k={k}, patches of N={count} larger images, seed 0"
        yield Trial("unmask-public", name, settings, partial(in_patches, k, count, some, 0), judged=True)
    for k in (3, 4, 6):
        for kind, shared in LABELS.items():
            settings = {"k": k, "labels": list(shared), "public": PUBLIC, "rows": FEWER[scale]}
            settings |= {"first": FIRST, "hidden": HIDDEN, "seed": 0}
            run_it = partial(of_labels, k, kind, FEWER[scale], 0)
            yield Trial("unmask-public", f"unmask: k={k}, labels {kind}, seed 0", settings, run_it, judged=True)


def imagenet(ledger: Ledger) -> str:
    """Say how long the rows of the challenge take with ImageNet as the public set: what a row takes grows with N."""
    said = []
    for k in (4, 6):
        times = {count: figures(ledger, f"unmask: k={k}, N={count}", "processor seconds a row") for count in SIZES}
        measured_at = {count: sum(values) / len(values) for count, values in times.items() if values}
        if len(measured_at) < 2:
            continue
        seconds = extrapolated(measured_at, IMAGENET)
        few, many = min(measured_at), max(measured_at)
        said.append(
            f"k={k}: {measured_at[few]:.2f} s of a processor for a row with N={few:,}, {measured_at[many]:.2f} s with "
            f"N={many:,}; with the {IMAGENET:,} images of ImageNet, as a straight line says, {seconds:.0f} s, and "
            f"{CHALLENGE * seconds / 3600:.0f} hours for {CHALLENGE:,} rows.\n"
        )
    return "\n".join(said)


def extrapolated(seconds: Mapping[int, float], count: int) -> float:
    """Give what a row takes with so many public images, on the line through the two largest sizes that were measured.

    >>> extrapolated({1000: 1.5, 2000: 2.0, 4000: 3.0}, 10_000)
    6.0
    """
    (few, less), (many, more) = sorted(seconds.items())[-2:]
    return more + (more - less) / (many - few) * (count - many)
