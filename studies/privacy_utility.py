"""Which should a hospital use? Accuracy against ε, for every way to learn from the same features.

python studies/privacy_utility.py
python studies/privacy_utility.py --only cifar10
"""

import math
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
from ledger import Ledger, Trial, conduct, shown, table

from hideseek.chance import seeded
from hideseek.choose import WAYS, Privacy
from hideseek.data import load, normalise
from hideseek.data.cache import cache_folder, keep
from hideseek.learn import accuracy, largest_class, predict
from hideseek.models.features import efficientnet_lite0, extract
from hideseek.records import Samples
from hideseek.report.privacy_utility import Panel, draw_privacy_utility

TITLE = "Privacy and utility"
NAMES = {"cifar10": "CIFAR-10", "mnist": "MNIST", "pneumoniamnist": "PneumoniaMNIST"}
EPSILONS, DELTA, SEEDS = (0.5, 1.0, 3.0, 8.0), 1e-5, 3
SIDE = {"cpu": 128, "paper": 224}
COUNTS: dict[str, dict[str, int | None]] = {
    "cpu": {"train": 10_000, "test": 4_000},
    "paper": {"train": None, "test": None},
}
ABOUT = """Features of EfficientNet-Lite0 ({side} pixels; the extractor is public), each scaled to length 1; δ = 1e-5,
an image is added or removed. Proved ways keep to ε: *noisy-means* (sums of the classes under Gaussian noise,
`NoisySums`), *noisy-least-squares* (and of all products), *dp-sgd* (a linear model, 60 steps), *gaussian-mixup* (rows
that anyone may learn from, mix known; *-poisson*: mix secret), class means in closed form. {seeds} seeds of noise; ± is
their deviation. Schemes without a proof (no ε: attacks on membership refute every one) and nothing hidden are networks,
one seed. Settings of DP-SGD were chosen on the last fifth of CIFAR-10's training features, nothing on test images.
Every figure is in `{name}.json`.
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
    said.append(ledger.legend("privacy_utility.py"))
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
