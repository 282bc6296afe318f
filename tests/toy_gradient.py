"""Another kind of release, of which hideseek knows nothing: the gradient of a linear layer for one image.

L = −log softmax(W x + b)_y has ∂L/∂W = δ xᵀ and ∂L/∂b = δ, with δ = softmax(W x + b) − y, so x = (∂L/∂W)_i / (∂L/∂b)_i
for any class i: one update shows its image exactly, unless noise hides it.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import ClassVar, Self

import torch
from jaxtyping import Float, Int
from safetensors.torch import load_file, save_file
from torch import Tensor

from hideseek.chance import Randomness, seeded
from hideseek.records import (
    Attack,
    Change,
    ChangeKind,
    Contents,
    Encoder,
    Evidence,
    Known,
    Reason,
    Reconstruction,
    Refusal,
    Release,
    Samples,
    Task,
)
from hideseek.records.secret import Secret


@dataclass(frozen=True)
class GradientRelease(Release):
    """One update for each image, in a random order."""

    withheld: ClassVar = (*Release.withheld, "order")

    weights: Float[Tensor, "n classes pixels"]
    biases: Float[Tensor, "n classes"]
    shape: tuple[int, int, int]
    layer: "LinearGradient"
    order: Int[Tensor, " n"] | None = None

    @property
    def encoder(self) -> "LinearGradient":
        return self.layer

    def size(self) -> Task:
        return Task(len(self.weights), len(self.weights), math.prod(self.shape), images_per_item=1)

    def contents(self) -> Contents:
        return Contents("update", len(self.weights))

    def as_noise(self, chance: Randomness) -> Self:
        scale = float(self.weights.std())
        return replace(self, weights=chance.normals(*self.weights.shape).mul_(scale))


@dataclass(frozen=True)
class GradientSecret(Secret):
    """Which image each update is of."""

    order: Int[Tensor, " n"]

    @property
    def items(self) -> int:
        return len(self.order)

    def holds(self, items: Int[Tensor, " n"]) -> Int[Tensor, "n 1"]:
        return self.order[items][:, None]

    def shares(self, items: Int[Tensor, " n"]) -> Float[Tensor, "n 1"]:
        return torch.ones(len(items), 1)

    def withheld(self, field: str) -> Int[Tensor, " n"]:
        return {"order": self.order}[field]


@dataclass(frozen=True)
class LinearGradient(Encoder, mechanism="linear-gradient"):
    """Share the gradient of a linear layer for each image, under Gaussian noise."""

    noise: float = 0.0

    def hide(
        self, private: Samples, public: Samples | None, chance: Randomness, rounds: int = 1
    ) -> tuple[GradientRelease, GradientSecret]:
        order = torch.cat([chance.permutation(len(private)) for _ in range(rounds)])
        images, labels = private.pixels(order).flatten(1), private.labels[order]
        layer = seeded(1).normals(labels.shape[1], images.shape[1]) / images.shape[1] ** 0.5
        errors = (images @ layer.T).softmax(1) - labels
        weights = errors[:, :, None] * images[:, None, :]
        weights += self.noise * chance.normals(*weights.shape)
        release = GradientRelease(weights, errors, private.shape, self, seed=chance.seed)
        return release, GradientSecret(private, order)

    def write(
        self, private: Samples, public: Samples | None, chance: Randomness, folder: Path, secret: Path, rounds: int = 1
    ) -> None:
        release, truth = self.hide(private, public, chance, rounds)
        folder.mkdir(parents=True)
        save_file({"weights": release.weights, "biases": release.biases}, folder / "updates.safetensors")
        (folder / "about.json").write_text(json.dumps({"shape": release.shape, **asdict(self)}))
        save_file({"images": private.pixels(), "labels": private.labels, "order": truth.order}, secret)

    def read(self, folder: Path, secret: Path, public: Samples | None) -> tuple[GradientRelease, GradientSecret]:
        updates, truth = load_file(folder / "updates.safetensors"), load_file(secret)
        channels, height, width = json.loads((folder / "about.json").read_text())["shape"]
        release = GradientRelease(updates["weights"], updates["biases"], (channels, height, width), self)
        return release, GradientSecret(Samples(truth["images"], truth["labels"]), truth["order"])

    def planned_size(
        self, private: Samples, public: Samples | None = None, own: Samples | None = None, rounds: int = 1
    ) -> Task:
        return Task(len(private) * rounds, len(private), math.prod(private.shape), images_per_item=1)

    def weak_cases(self, images: Samples, chance: Randomness) -> Iterator[Encoder]:
        yield LinearGradient()

    def known(self, rounds: int, *, labelled: bool, of_bytes: bool) -> tuple[Known, ...]:
        return (Known("The gradient of a first linear layer shows its input.", "Phong et al. 2017"),)

    def stronger(self, rounds: int) -> Iterator[tuple[Change, Encoder, int]]:
        noise = 100 * max(self.noise, 1.0)
        yield Change(ChangeKind.MORE_NOISE, "noise", self.noise, noise), LinearGradient(noise), rounds


@dataclass(frozen=True)
class ExactGradient(Attack[GradientRelease]):
    """Divide the gradient of the weights by that of the bias."""

    sees: ClassVar = GradientRelease
    source: ClassVar = "Phong et al. 2017"

    def seek(self, release: GradientRelease, chance: Randomness) -> Evidence:
        largest = release.biases.abs().argmax(1)
        each = torch.arange(len(largest))
        images = release.weights[each, largest] / release.biases[each, largest, None]
        guesses = images.view(-1, *release.shape)
        return Evidence((Reconstruction(guesses, each, "items"),))

    def refuses(self, release: GradientRelease) -> Refusal | None:
        few = len(release.weights) < 2
        return Refusal(Reason.TOO_FEW_ROWS, {"given": len(release.weights), "wanted": 2}) if few else None

    def work(self, task: Task) -> float:
        return task.items * task.pixels
