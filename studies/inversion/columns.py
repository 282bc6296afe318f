"""The columns of Table 5 (Huang et al. 2021): every defence, what the paper found, and the images that are attacked."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

import torch

from hideseek.data import load, normalise
from hideseek.hide import InstaHide, Mixup
from hideseek.hide.encoders.base import RecipeEncoder
from hideseek.hide.updates import ShareUpdates
from hideseek.hide.updates.pruning import GradientPruning
from hideseek.records import Samples
from hideseek.records.defence import Defence

Attacker = Literal["strongest", "realistic"]
Row = tuple[Attacker, int]
FIRST = 20_000  # image of CIFAR-10: those before are the attacker's
EACH, CLASSES = 5, 10  # images of a class
TARGETS = EACH * CLASSES
BATCHES = (16, 32)
ATTACKERS: tuple[Attacker, ...] = ("strongest", "realistic")
OWN = 5_000  # images of the attacker's
BOUND = 0.65  # of a single weight


@dataclass(frozen=True)
class Column:
    """A defence, its parameters, and the paper's figures: accuracy, and the mean, best and deviation of LPIPS."""

    encoding: RecipeEncoder | None
    defences: tuple[Defence, ...]
    accuracy: float
    lpips: Mapping[Row, tuple[float, float, float]]

    def scheme(self, model: str, batch: int, mode: Literal["train", "eval"]) -> ShareUpdates:
        """Give a client that defends itself so."""
        return ShareUpdates(model, batch, mode=mode, encoding=self.encoding, defences=self.defences)


def _column(
    accuracy: float, *figures: tuple[float, float, float], encoding: RecipeEncoder | None = None, p: float | None = None
) -> Column:
    rows: list[Row] = [("strongest", 16), ("realistic", 16), ("strongest", 32), ("realistic", 32)]
    defences = () if p is None else (GradientPruning(p),)
    return Column(encoding, defences, accuracy, dict(zip(rows, figures, strict=True)))


_MIXED = {k: Mixup(k=k, largest=BOUND) for k in (4, 6)}
_MASKED = {k: InstaHide(k=k, largest=BOUND) for k in (4, 6)}
COLUMNS: dict[str, Column] = {
    "none": _column(93.37, (0.41, 0.21, 0.09), (0.49, 0.30, 0.08), (0.45, 0.18, 0.11), (0.48, 0.29, 0.08)),
    "p=0.5": _column(93.19, (0.41, 0.22, 0.08), (0.51, 0.33, 0.09), (0.46, 0.18, 0.11), (0.50, 0.32, 0.07), p=0.5),
    "p=0.7": _column(93.01, (0.42, 0.27, 0.07), (0.48, 0.31, 0.08), (0.48, 0.22, 0.09), (0.53, 0.32, 0.07), p=0.7),
    "p=0.9": _column(90.57, (0.46, 0.29, 0.06), (0.51, 0.33, 0.08), (0.52, 0.31, 0.07), (0.53, 0.31, 0.08), p=0.9),
    "p=0.95": _column(89.92, (0.48, 0.30, 0.06), (0.52, 0.34, 0.07), (0.54, 0.43, 0.05), (0.55, 0.40, 0.08), p=0.95),
    "p=0.99": _column(88.61, (0.50, 0.29, 0.06), (0.56, 0.39, 0.07), (0.58, 0.48, 0.04), (0.60, 0.41, 0.06), p=0.99),
    "p=0.999": _column(83.58, (0.55, 0.48, 0.04), (0.60, 0.44, 0.05), (0.63, 0.54, 0.04), (0.63, 0.55, 0.04), p=0.999),
    "mixup k=4": _column(
        92.31, (0.50, 0.31, 0.10), (0.71, 0.48, 0.08), (0.50, 0.31, 0.10), (0.73, 0.63, 0.06), encoding=_MIXED[4]
    ),
    "mixup k=6": _column(
        90.41, (0.49, 0.28, 0.10), (0.71, 0.53, 0.07), (0.49, 0.28, 0.10), (0.72, 0.60, 0.06), encoding=_MIXED[6]
    ),
    "intra-instahide k=4": _column(
        90.04, (0.69, 0.56, 0.06), (0.75, 0.65, 0.04), (0.69, 0.56, 0.06), (0.76, 0.68, 0.04), encoding=_MASKED[4]
    ),
    "intra-instahide k=6": _column(
        88.20, (0.69, 0.56, 0.07), (0.75, 0.63, 0.05), (0.69, 0.56, 0.07), (0.76, 0.63, 0.05), encoding=_MASKED[6]
    ),
    "p=0.9 + mixup k=4": _column(
        91.37, (0.62, 0.37, 0.10), (0.74, 0.61, 0.08), (0.62, 0.37, 0.10), (0.76, 0.66, 0.06), encoding=_MIXED[4], p=0.9
    ),
    "p=0.9 + intra-instahide k=4": _column(
        86.10, (0.73, 0.65, 0.05), (0.74, 0.63, 0.05), (0.73, 0.65, 0.05), (0.77, 0.65, 0.05),
        encoding=_MASKED[4], p=0.9,
    ),
}  # fmt: skip


@cache
def attacked_images(count: int) -> Samples:
    """Give `count` images, the targets first, a class after the other, so that no batch is smaller than others."""
    images = load("cifar10").take(slice(FIRST, FIRST + 10_000))
    classes = images.labels.argmax(1)
    places = torch.stack([(classes == each).nonzero()[:EACH, 0] for each in range(CLASSES)], 1).flatten()
    rest = torch.ones(len(classes), dtype=torch.bool)
    rest[places] = False
    chosen = torch.cat([places, rest.nonzero()[:, 0]])[:count]
    return normalise(images.take(chosen), own_images().normalisation)


@cache
def own_images(count: int = OWN) -> Samples:
    """Give images of the attacker's own: the first of CIFAR-10, none of which is attacked; all are normalised alike."""
    return normalise(load("cifar10").take(slice(0, count)), "channel")
