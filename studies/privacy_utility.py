"""Which should a hospital use? Accuracy against ε, for every way to learn from the same features.

python studies/privacy_utility.py
python studies/privacy_utility.py --only cifar10
python studies/privacy_utility.py --only refuted
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
from ledger import Ledger, Trial, conduct, shown, table

from hideseek.audit.trained_model import TrainedBy
from hideseek.chance import seeded
from hideseek.choose import WAYS, Privacy
from hideseek.data import load, normalise
from hideseek.data.cache import cache_folder, keep
from hideseek.hide import GaussianMixup, InstaHide, Mixup, SingularizedMixup
from hideseek.learn import accuracy, largest_class, predict
from hideseek.models.features import efficientnet_lite0, extract
from hideseek.records import Evidence, MixingEncoder, Samples
from hideseek.records.result import NoteKind
from hideseek.records.secret import Secret
from hideseek.report.privacy_utility import Panel, draw_privacy_utility
from hideseek.score.judge import judge
from hideseek.seek import ATTACKS, ON_MODELS
from hideseek.seek import run as attack

TITLE = "Privacy and utility"
NAMES = {"cifar10": "CIFAR-10", "mnist": "MNIST", "pneumoniamnist": "PneumoniaMNIST"}
EPSILONS, DELTA, SEEDS = (0.5, 1.0, 3.0, 8.0), 1e-5, 3
SIDE = {"cpu": 128, "paper": 224}
COUNTS: dict[str, dict[str, int | None]] = {
    "cpu": {"train": 10_000, "test": 4_000},
    "paper": {"train": None, "test": None},
}
GALLERY = 500  # members, and as many others
AREA, FOUND = "membership-auc", "membership-tpr@fpr=0.01"
STATED = 8.0  # ε of what is proved, where it is attacked
FROM_ROWS: dict[str, tuple[MixingEncoder, str]] = {
    "mixup, k = 4": (Mixup(k=4), "likelihood-ratio"),
    "instahide-inside, k = 4": (InstaHide(k=4), "likelihood-ratio"),
    "singularized-mixup, τ = 0.01": (SingularizedMixup(), "equal-length"),
    "gaussian-mixup, ε = 8": (GaussianMixup(4, STATED, DELTA, clip=1.0), "likelihood-ratio"),
}
FROM_MODELS = ("not-hidden", "noisy-means", "noisy-least-squares", "dp-sgd")
SHADOWS = 8
ABOUT = """Features of EfficientNet-Lite0 ({side} pixels; the extractor is public), each scaled to length 1; δ = 1e-5,
an image is added or removed. Proved ways keep to ε: *noisy-means* (sums of the classes under Gaussian noise,
`NoisySums`), *noisy-least-squares* (and of all products), *dp-sgd* (a linear model, 60 steps), *gaussian-mixup* (rows
that anyone may learn from, mix known; *-poisson*: mix secret), class means in closed form. Up to {seeds} seeds of
noise; ± is their deviation, and a figure without it is of one seed. Schemes without a proof (their rows refute the ε of
the last table) and nothing hidden are networks, one seed; an empty cell was not measured. Settings of DP-SGD were
chosen on the last fifth of CIFAR-10's training features, nothing on test images.
Every figure is in `{name}.json`.
"""
REFUTED = f"""An attacker has {2 * GALLERY:,} candidates of CIFAR-10, half of which were hidden or learnt from. The
largest ε that his scores refute at δ = 1e-5, with 95 % confidence (one-run audit), is a lower bound of what was spent:
it can be {5.2:g} at most with so many candidates, so that a scheme without a proof is not said to be worth that.
"""


def drawn(name: str, split: str, count: int | None) -> Samples:
    """Draw raw images of a split, always the same ones; of a set that is smaller, all."""
    samples = load(f"{name}?split={split}")
    if count is None or count >= len(samples):
        return samples
    return samples.take(seeded(0).permutation(len(samples))[:count].sort().values)


@cache
def features(name: str, split: str, scale: str) -> Samples:
    """Take features of length 1, unless they were taken before."""
    samples = load(f"{name}?split={split}")
    count = COUNTS[scale][split]
    count = None if count is None or count >= len(samples) else count
    path = cache_folder() / "features" / f"efficientnet-lite0-{SIDE[scale]}-{name}-{split}-{count or 'all'}.npz"
    if not path.exists():
        taken = extract(drawn(name, split, count), efficientnet_lite0(SIDE[scale]))
        labels = taken.labels.argmax(1).numpy()
        keep(path, {"x": taken.images.flatten(1).numpy(), "y": labels, "classes": np.array(taken.classes)})
    return normalise(load(f"npz:{path}"), "image")


def trials(scale: str) -> Iterator[Trial]:
    """Give every set, way, ε and seed; the first seed of everything first."""
    for seed in range(SEEDS):
        for name in NAMES:
            for way, how in WAYS.items():
                for epsilon in EPSILONS if how.proved else (math.inf,) if seed == 0 else ():
                    about = {"features": SIDE[scale], "images": COUNTS[scale], "delta": DELTA, "way": repr(how)}
                    run = partial(measured, name, way, epsilon, seed, scale)
                    yield Trial(name, cell(name, way, epsilon, seed), about, run)

    for scheme, (encoder, name) in FROM_ROWS.items():
        about = {
            "features": SIDE[scale],
            "gallery": 2 * GALLERY,
            "scheme": repr(encoder),
            "attack": repr(ATTACKS[name]),
        }
        yield Trial(
            "refuted", f"refuted: rows of {scheme}", about, partial(refuted_from_rows, encoder, name, scale), True
        )
    for way in FROM_MODELS:
        about = {"features": SIDE[scale], "gallery": 2 * GALLERY, "way": repr(WAYS[way]), "shadows": SHADOWS}
        yield Trial("refuted", f"refuted: model of {way}", about, partial(refuted_from_model, way, scale), True)


def cell(name: str, way: str, epsilon: float, seed: int) -> str:
    """Name a trial."""
    return f"{name}: {way}, {'no ε' if math.isinf(epsilon) else f'ε = {epsilon:g}'}, seed {seed}"


def measured(name: str, way: str, epsilon: float, seed: int, scale: str) -> dict[str, Any]:
    """Learn, and test on new images."""
    train, test = (features(name, split, scale) for split in ("train", "test"))
    privacy = Privacy(1.0 if math.isinf(epsilon) else epsilon, DELTA)
    trained = WAYS[way].learn(train, privacy, seeded(100 + seed))
    return {
        "accuracy": round(accuracy(predict(trained, test), test.labels), 5),
        "largest class": round(largest_class(test.labels), 5),
        "images": len(train),
    }


def gallery(scale: str) -> tuple[Samples, Samples]:
    """Give members, and as many others of their kind."""
    drawn_features = features("cifar10", "train", scale)
    return drawn_features.take(slice(GALLERY)), drawn_features.take(slice(GALLERY, 2 * GALLERY))


def refuted_from_rows(encoder: MixingEncoder, name: str, scale: str) -> dict[str, Any]:
    """Attack rows as one does who has candidates."""
    members, others = gallery(scale)
    release, secret = encoder.hide(members, None, seeded(1))
    secret = replace(secret, others=others)
    return judged(attack(ATTACKS[name], secret.reveal(release, ("candidates",)), seeded(2)), secret)


def refuted_from_model(way: str, scale: str) -> dict[str, Any]:
    """Attack a model of a way as one does who has candidates with their labels."""
    members, others = gallery(scale)
    trained_by = TrainedBy(way, lambda images, chance: WAYS[way].learn(images, Privacy(STATED, DELTA), chance))
    release, secret = trained_by.hide(members, None, seeded(1))
    secret = replace(secret, others=others, other_labels=others.labels)
    seen = secret.reveal(release, ("candidates", "labels"))
    result: dict[str, Any] = {}
    for name, each in ON_MODELS.items():
        told = judged(attack(replace(each, models=SHADOWS), seen, seeded(2)), secret)
        result |= {f"{name}, {key}": value for key, value in told.items()}
    return result


def judged(evidence: Evidence, secret: Secret) -> dict[str, Any]:
    """Give AUC, TPR at 1 % FPR with its interval, and the largest ε that is refuted at δ = 1e-5, at 95 %; 0: none."""
    scores = {score.metric: score for score in judge(evidence, secret, seeded(3), (AREA, FOUND)).scores}
    notes = [note.value for note in scores[AREA].notes if note.kind is NoteKind.REFUTED_EPSILON]
    rate = scores[FOUND].interval
    return {
        "auc": round(scores[AREA].interval.mean, 4),
        "tpr": [round(each, 4) for each in (rate.mean, rate.low, rate.high)],
        "epsilon": notes[0] if notes else 0.0,
    }


def refuted_table(ledger: Ledger) -> str:
    """Write what membership refutes, from rows and through models."""
    rows = []
    for scheme, (_, name) in FROM_ROWS.items():
        result = ledger.results(f"refuted: rows of {scheme}")
        if result:
            rows.append([f"rows of {scheme}", name, *cells_of(result, "")])
    for way in FROM_MODELS:
        result = ledger.results(f"refuted: model of {way}")
        promise = f", ε = {STATED:g}" if WAYS[way].proved else ""
        if result:
            rows += [[f"model of {way}{promise}", name, *cells_of(result, f"{name}, ")] for name in ON_MODELS]
    heads = ["what leaves", "attack", "AUC", "TPR at 1 % FPR (95 %)", "ε refuted"]
    return f"## What membership refutes\n\n{REFUTED}\n" + table(heads, rows) if rows else ""


def cells_of(result: dict[str, Any], before: str) -> list[str]:
    """Give the cells of one attack."""
    rate, low, high = (100 * each for each in result[f"{before}tpr"])
    epsilon = result[f"{before}epsilon"]
    return [
        f"{result[f'{before}auc']:.3f}",
        f"{rate:.1f} ({low:.1f} to {high:.1f})",
        f"{epsilon:.2f}" if epsilon else "–",
    ]


def found(ledger: Ledger, name: str, way: str, epsilon: float) -> list[float]:
    """Give the accuracies of all seeds, in %."""
    results = (ledger.results(cell(name, way, epsilon, seed)) for seed in range(SEEDS))
    return [100 * result["accuracy"] for result in results if result]


def render(ledger: Ledger, path: Path, scale: str) -> None:
    """Write the tables, what they say, and the picture."""
    picture = path.with_suffix(".png")
    said = [f"# {TITLE}\n", ABOUT.format(side=SIDE[scale], seeds=SEEDS, name=path.stem), plainly(ledger)]
    said.append(f"![Accuracy against ε]({picture.name})\n")
    for name, title in NAMES.items():
        rows = []
        for way, how in WAYS.items():
            cells = (
                [shown(found(ledger, name, way, epsilon)) for epsilon in EPSILONS] if how.proved else ["", "", "", ""]
            )
            rows.append([way, *cells, "" if how.proved else shown(found(ledger, name, way, math.inf))])
        heads = ["way", *(f"ε = {epsilon:g}" for epsilon in EPSILONS), "no ε"]
        said += [f"## {title}\n", table(heads, rows)]
    said += [refuted_table(ledger), ledger.legend("privacy_utility.py")]
    path.with_suffix(".md").write_text("\n".join(part for part in said if part), "utf-8")
    panels = [panel(ledger, name, title) for name, title in NAMES.items()]
    with picture.open("wb") as file:
        draw_privacy_utility([each for each in panels if each.proved], file)


def panel(ledger: Ledger, name: str, title: str) -> Panel:
    """Give a set of images as a panel of the picture."""
    proved: dict[str, dict[float, tuple[float, float]]] = {}
    unproved: dict[str, float] = {}
    level = 0.0
    for way, how in WAYS.items():
        for epsilon in EPSILONS if how.proved else (math.inf,):
            values = [value / 100 for value in found(ledger, name, way, epsilon)]
            if values and how.proved:
                proved.setdefault(way, {})[epsilon] = (fmean(values), stdev(values) if len(values) > 1 else 0.0)
            elif values:
                unproved[way] = values[0]
            for result in filter(None, [ledger.results(cell(name, way, epsilon, 0))]):
                level = result["largest class"]
    return Panel(title, proved, unproved, level)


def plainly(ledger: Ledger) -> str:
    """Say which way to take at each ε: the simplest that is within two points of the best."""
    lines = []
    for name, title in NAMES.items():
        for epsilon in EPSILONS:
            means = {way: fmean(each) for way in WAYS if (each := found(ledger, name, way, epsilon))}
            if means:
                best = max(means.values())
                simplest = next(way for way, value in means.items() if value >= best - 2)
                lines.append(
                    f"- {title}, ε = {epsilon:g}: **{simplest}**, {means[simplest]:.1f} % (best {best:.1f} %)."
                )
    return (
        "In plain words, the simplest way within two points of the best:\n" + "\n".join(lines) + "\n" if lines else ""
    )


if __name__ == "__main__":
    conduct(__doc__, "privacy_utility", TITLE, trials, render)
