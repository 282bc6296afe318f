"""Accuracy over compute: what hiding costs, when everybody trains for as long as it takes.

InstaHide's Table 2 at the size of a processor (`instahide.py`) measures trainings that are not at their end. Here
vanilla training and hidden rows get 1, 3, 9 and 27 times the multiply-adds of that table's five epochs of CIFAR-10, so
that the gap between them can be followed; PneumoniaMNIST and two classes of CIFAR-10 are small enough to reach their
plateau; and today's training of hidden rows stands beside the earlier one at equal compute.

    python studies/accuracy_over_compute.py                            everything (about seven hours on two free cores)
    python studies/accuracy_over_compute.py --only recipes             the two trainings, side by side
    python studies/accuracy_over_compute.py --only choice              what was tried, on images that were held out
    python studies/accuracy_over_compute.py --only "cifar10: inside"   one curve; "1x", "3x", "9x", "27x": one step
    python studies/accuracy_over_compute.py --render                   tables and picture, from what was measured
    python studies/accuracy_over_compute.py --scale paper              ResNet-18 and the paper's epochs, for a GPU

A training that is stopped is gone on with by the same command, from its last checkpoint.
"""

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

import accuracy_tables
import torch
import tyro
from ledger import HERE, Ledger, Study, Trial
from torch import nn

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.data.cache import cache_folder
from hideseek.files import own_folder
from hideseek.hide import InstaHide
from hideseek.hide.files.schemes import to_json
from hideseek.learn import Plain, Reencoded, RunFolder, Source, accuracy, largest_class, learn, predict
from hideseek.models import build
from hideseek.records import Normalisation, Samples
from hideseek.train.muon import TIMES
from hideseek.train.recipes import RECIPES
from hideseek.train.schedules import Cosine
from hideseek.train.training import SGD, Muon, Training

Set = Literal["cifar10", "two-class", "pneumoniamnist", "held-out"]
ASKED = 10  # encodings that a prediction averages over
FACTORS = (1, 3, 9, 27)
CHANNELS = Normalisation("channel", (0.49, 0.48, 0.45), (0.2, 0.2, 0.2))  # InstaHide, Table 3
PUBLIC = "patches:tinyimagenet?each=3"
SCHEMES: dict[str, InstaHide | None] = {
    "vanilla": None,
    "inside, k=4": InstaHide(k=4),
    "cross, k=4": InstaHide(k=4, k_private=2),
}
WAYS: dict[Set, tuple[str, ...]] = {  # public patches are photographs: X-rays have none that suit
    "pneumoniamnist": ("vanilla", "inside, k=4"),
    "two-class": ("vanilla", "inside, k=4"),
    "cifar10": tuple(SCHEMES),
}
TWO = (0, 1)  # aeroplanes and cars
SHORT, HELD = 2, 5000  # epochs of a choice, and the training images that are held out for it
EARLIER = Training(5, 128, SGD(0.1, 0.9, 5e-4), Cosine(warm=0.2))
SEEDS = 3  # of the two trainings side by side


@dataclass(frozen=True)
class Scale:
    """The networks, and what a factor of 1 is."""

    plain: str
    masked: str
    factors: tuple[int, ...]
    training: dict[Set, Training]
    recipes: dict[str, tuple[str, Training]]
    """Trainings of hidden rows that are compared: the network and how it is trained."""


def _muon(epochs: int) -> Training:
    return Training(epochs, 128, Muon(), Cosine(warm=0.2))


def _augmented(epochs: int) -> Training:
    """Shift and mirror images, as InstaHide's published code does on CIFAR: else images are known by heart early."""
    return replace(_muon(epochs), augment=True)


SCALES = {
    "cpu": Scale(
        "small-resnet",
        "small-resnet-masked",
        FACTORS,
        {"pneumoniamnist": _muon(10), "two-class": _augmented(5), "cifar10": _augmented(5)},
        {"today": ("small-resnet-masked", _muon(5)), "earlier": ("small-resnet-absolute", EARLIER)},
    ),
    "paper": Scale(
        "resnet18",
        "resnet18",
        (1,),
        dict.fromkeys(("pneumoniamnist", "two-class", "cifar10"), RECIPES["instahide-cifar10"]),
        {},
    ),
}


@cache
def images(name: Set) -> tuple[Samples, Samples]:
    """Load training and test images, normalised."""
    if name == "pneumoniamnist":
        train = normalise(load("pneumoniamnist?split=train"), "channel")
        return train, normalise(load("pneumoniamnist?split=test"), train.normalisation)
    train, test = (normalise(load(f"cifar10?split={split}"), CHANNELS) for split in ("train", "test"))
    if name == "held-out":
        order = seeded(1).permutation(len(train))
        return train.take(order[HELD:]), train.take(order[:HELD])
    return (train, test) if name == "cifar10" else (two_classes(train), two_classes(test))


def two_classes(samples: Samples) -> Samples:
    """Keep the images of two classes."""
    labels = samples.labels[:, list(TWO)]
    kept = labels.sum(1) > 0
    return replace(
        samples.take(kept.nonzero()[:, 0]),
        labels=labels[kept],
        classes=tuple(samples.classes[each] for each in TWO),
    )


@cache
def public() -> Samples:
    """Load what is mixed into CIFAR-10."""
    train, _ = images("cifar10")
    return normalise(load(PUBLIC, size=train.shape[1:], channels=3, labelled=False), train.normalisation)


def trials(scale: Scale) -> Iterator[Trial]:
    """List what is to be measured: the shortest first, since every part of a curve says something."""
    for seed in range(SEEDS):
        for name, (model, training) in scale.recipes.items():
            if seed or name != "earlier":  # whose first seed is in Table 2
                yield trial("recipes", "cifar10", f"inside, k=4, {name}", "inside, k=4", model, training, seed)
        if seed == 0:
            yield from curves(scale)
    if scale.recipes:
        yield from not_augmented(scale)
        yield from choices()


def choices() -> Iterator[Trial]:
    """List short trainings that tell what each change is worth, on images held out of the training set."""
    earlier, muon = replace(EARLIER, epochs=SHORT), _muon(SHORT)
    faster = replace(earlier, optimiser=SGD(0.3, 0.9, 5e-4))
    for row, model, training in (
        ("earlier", "small-resnet-absolute", earlier),
        ("SGD at 0.3", "small-resnet-absolute", faster),
        ("Muon", "small-resnet-absolute", muon),
        ("small-resnet-masked", "small-resnet-masked", earlier),
        ("small-resnet-masked, Muon", "small-resnet-masked", muon),
        ("small-resnet-masked, Muon at 0.2", "small-resnet-masked", replace(muon, optimiser=Muon(0.2))),
    ):
        yield trial("choice", "held-out", row, "inside, k=4", model, training, 0)
    for row, training in (("vanilla, SGD at 0.1", earlier), ("vanilla, Muon", muon)):
        yield trial("choice", "held-out", row, "vanilla", "small-resnet", training, 0)


def curves(scale: Scale) -> Iterator[Trial]:
    """List the points of the curves."""
    for factor in scale.factors:
        for name, ways in WAYS.items():
            for way in ways:
                yield point(scale, name, way, factor)


def not_augmented(scale: Scale) -> Iterator[Trial]:
    """List trainings on CIFAR-10 as it is: what those that are compared would come to."""
    for factor in scale.factors[:2]:
        training = _muon(5 * factor)
        row = f"vanilla, not augmented, {factor}x"
        yield trial("augmentation", "cifar10", row, "vanilla", scale.plain, training, 0)


def point(scale: Scale, name: Set, way: str, factor: int) -> Trial:
    """Describe one point of a curve."""
    base = scale.training[name]
    training = replace(base, epochs=factor * base.epochs)
    model = scale.plain if SCHEMES[way] is None else scale.masked
    return trial(f"{factor}x", name, f"{way}, {factor}x", way, model, training, 0)


def trial(item: str, name: Set, row: str, way: str, model: str, training: Training, seed: int) -> Trial:
    """Describe the training of one model."""
    scheme = SCHEMES[way]
    described = {
        "data": name,
        "scheme": None if scheme is None else to_json(scheme),
        "public": PUBLIC if scheme is not None and scheme.mixes_public else None,
        "model": model,
        "training": repr(training),
        "seed": seed,
        "times": ASKED,
    }
    return Trial(item, f"{name}: {row}, seed {seed}", described, partial(measured, name, way, model, training, seed))


def measured(name: Set, way: str, model: str, training: Training, seed: int) -> dict[str, Any]:
    """Train, and give the accuracy on test images, plain and encoded, and the multiply-adds that it took."""
    train, test = images(name)
    scheme = SCHEMES[way]
    others = public() if scheme is not None and scheme.mixes_public else None
    source: Source[Any] = Plain(train) if scheme is None else Reencoded(train, scheme, others)
    folder = unfinished(name, way, model, repr(training), seed)
    learnt = learn(source, model, training, chance=seeded(seed), run_folder=RunFolder(folder, resume=True))
    result = {
        "accuracy": round(100 * accuracy(predict(learnt.trained, test), test.labels), 2),
        "loss": round(learnt.history[-1]["loss"], 4),
        "teramultiplyadds": round(work(model, train.shape, len(train), train.labels.shape[1], training) / 1e12, 3),
        "largest class": round(100 * largest_class(test.labels), 2),
    }
    if scheme is not None:
        ask = partial(predict, learnt.trained, test, encoder=scheme, pool=train, public=others, times=ASKED)
        for which, weighted in (("hidden accuracy", False), ("weighted accuracy", True)):
            asked = ask(weighted=weighted, chance=seeded(1000 + seed))  # the same encodings
            result[which] = round(100 * accuracy(asked, test.labels), 2)
    shutil.rmtree(folder)
    return result


def unfinished(*settings: object) -> Path:
    """Give the folder of a training that may have been begun before."""
    digest = hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:16]
    folder = cache_folder() / "studies" / digest
    own_folder(folder)
    return folder


def work(model: str, shape: tuple[int, int, int], rows: int, classes: int, training: Training) -> float:
    """Count the multiply-adds of a training.

    Three times those of a network for every image (once forwards, twice backwards), and those of Muon's products for
    every batch: kernels of m × n with m ≤ n take 2m²n + (4·5 − 3)m³. What else is done to images and weights is linear
    in their size, and under a hundredth of that.
    """
    network = build(model, shape, classes)
    steps = training.epochs * (rows // training.batch)
    products = 0
    if isinstance(training.optimiser, Muon):
        for kernel in network.parameters():
            if kernel.ndim == 4:
                few, many = sorted((len(kernel), kernel[0].numel()))
                products += 2 * few**2 * many + (4 * TIMES - 3) * few**3
    return float(steps * (3 * training.batch * multiply_adds(network, shape) + products))


def multiply_adds(network: nn.Module, shape: Sequence[int]) -> int:
    """Count the multiply-adds of convolutions and dense layers for one image."""
    counted: list[int] = []

    def count(layer: nn.Conv2d | nn.Linear, _: object, out: torch.Tensor) -> None:
        places = out[0, 0].numel() if out.ndim == 4 else 1
        counted.append(layer.weight.numel() * places)

    for layer in network.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            layer.register_forward_hook(count)
    with torch.no_grad():
        network.eval()(torch.zeros(1, *shape))
    return sum(counted)


def chosen(trials: Iterable[Trial], only: Sequence[str]) -> list[Trial]:
    """Give the trials that were asked for, by item, factor or the beginning of a name."""
    return [each for each in trials if not only or each.item in only or each.name.startswith(tuple(only))]


def main() -> None:
    """Measure what is missing, and write the tables and the picture."""
    asked = tyro.cli(Study, description=__doc__)
    path = asked.json or HERE / "results" / f"accuracy_over_compute-{asked.scale}.json"
    ledger = Ledger.open(path, accuracy_tables.TITLE)
    scale = SCALES[asked.scale]
    every = list(trials(scale))
    works = {name: work(model, (3, 32, 32), 50_000, 10, training) for name, (model, training) in scale.recipes.items()}
    try:
        if not asked.render:
            ledger.measure(chosen(every, asked.only), asked.stale)
    finally:
        accuracy_tables.render(ledger, path, every, works)


if __name__ == "__main__":
    main()
