"""Class means in closed form, from the same rows as the network of Table 3: part of singularized.py.

They tell what the scheme costs from what the learner does (`hideseek.learn.class_means` has the equation).
"""

from collections.abc import Iterator
from typing import Any

import torch
from ledger import Ledger, Trial, shown, table
from singularized_features import (
    BY_TAU,
    EXTRACTOR,
    PLAIN,
    ROWS,
    SETS,
    WAYS,
    Hiding,
    Scale,
    Set,
    Way,
    estimated,
    features,
)

from hideseek.chance import seeded
from hideseek.hide import Mixup
from hideseek.learn import accuracy, class_means, predict
from hideseek.records import EncodedRelease, Samples
from hideseek.train.trained import Trained

SEEDS = 3  # of keys, for every τ on CIFAR-10; one for all else
NEAREST = "nearest mean"
FEWER = 6_000  # images, for which a prototype of ours had figures before
PROTOTYPE = {1e-2: "76.1 / –", 1e-4: "24.0 / 65.6"}  # at FEWER images of CIFAR-10: from one encoding / from twelve
TAUS_OF_FEWER = (1e-2, 1e-3, 1e-4, 1e-5)


def trials(scale: Scale) -> Iterator[Trial]:
    """List what is to be measured, the first seed of everything first."""
    for seed in range(SEEDS):
        for tau in TAUS_OF_FEWER:
            for way in WAYS:
                yield _trial("cifar10", BY_TAU[tau], way, seed, scale, FEWER)
        for name in SETS:
            for hiding in ROWS[name]:
                if seed == 0 or (name == "cifar10" and hiding in BY_TAU.values()):
                    for way in WAYS[:1] if hiding == PLAIN else WAYS:
                        yield _trial(name, hiding, way, seed, scale, scale.images[0])


def _trial(name: Set, hiding: Hiding, way: Way, seed: int, scale: Scale, images: int | None) -> Trial:
    rounds = scale.training[name].epochs if way == "re-encoded" else 1
    described = {
        "data": name,
        "images": [images, scale.images[1]],
        "features": f"{EXTRACTOR} at {scale.side}, centred",
        "hiding": [hiding.kind, hiding.value],
        "learner": "class means",
        "rounds": rounds,
        "seed": seed,
    }

    def run() -> dict[str, Any]:
        train, test = features(name, scale)
        learnt = class_means(_releases(train.take(slice(0, images)), hiding, rounds, seed, scale))
        found = {"accuracy": accuracy(predict(learnt, test), test.labels), NEAREST: _nearest(learnt, test)}
        return {key: round(100 * value, 2) for key, value in found.items()}

    return Trial("class-means", _cell(name, hiding, way, seed, images == FEWER), described, run)


def _releases(train: Samples, hiding: Hiding, rounds: int, seed: int, scale: Scale) -> Iterator[EncodedRelease]:
    """Give releases of the same features, one after another; the first is the one that the network of Table 3 has."""
    scheme, keys = hiding.scheme(scale), seeded(1000 + seed)
    if scheme is None:
        yield EncodedRelease(train, Mixup())  # nothing is mixed: the labels say so
        return
    scheme = estimated(scheme, train, keys)
    for _ in range(rounds):
        yield scheme.hide(train, None, keys)[0]


def _nearest(learnt: Trained, test: Samples) -> float:
    """Give the accuracy of the nearest mean as it is, s = 1, for comparison."""
    means = learnt.network.state_dict()["head.weight"].double()
    return accuracy(-torch.cdist(test.pixels().flatten(1).double(), means), test.labels)


def _cell(name: Set, hiding: Hiding, way: Way, seed: int, fewer: bool = False) -> str:
    which = f"{FEWER:,} images, " if fewer else ""
    return f"{name}: {which}{hiding.row}, class means, {way}, seed {seed}"


def accuracies(
    ledger: Ledger, name: Set, hiding: Hiding, way: Way, which: str = "accuracy", fewer: bool = False
) -> list[float]:
    """Give what all seeds measured."""
    found = (ledger.results(_cell(name, hiding, way, seed, fewer)) for seed in range(SEEDS))
    return [result[which] for result in found if result]


def nearest(ledger: Ledger, name: Set, hiding: Hiding, way: Way) -> list[float]:
    """Give the same of the nearest mean, not shrunk."""
    return accuracies(ledger, name, hiding, way, NEAREST)


def section(ledger: Ledger) -> str:
    """Set the figures for fewer images beside those of the prototype."""
    rows = []
    for tau in TAUS_OF_FEWER:
        pairs = [
            [accuracies(ledger, "cifar10", BY_TAU[tau], way, which, fewer=True) for way in WAYS]
            for which in ("accuracy", NEAREST)
        ]
        if all(values for pair in pairs for values in pair):
            rows.append([f"τ = {tau:g}", *(" / ".join(map(shown, pair)) for pair in pairs), PROTOTYPE.get(tau, "")])
    if not rows:
        return ""
    many = shown(accuracies(ledger, "cifar10", BY_TAU[1e-4], "re-encoded"))
    return f"""\
## Class means of {FEWER:,} images, CIFAR-10

From one encoding / from twelve, {SEEDS} seeds of keys.

{table(["", "class means", "nearest mean, s = 1", "prototype"], rows)}
The prototype that first showed this had other images, other keys and one seed. Neither its rule is recorded (from one
encoding at τ = 1e-4 it lies between our two), nor whether its twelve encodings were of {FEWER:,} images or of 10,000,
which have {many} here. At τ = 1e-4, ‖m_c‖² is nearly all noise, and differs from class to class by more than the
signal: who compares distances to such means compares noise.
"""
