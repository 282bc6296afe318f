"""Trained networks and their files."""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from hideseek.errors import BadInput
from hideseek.models import build
from hideseek.records import Normalisation, Samples
from hideseek.records.samples import describe_shape
from hideseek.train.state_files import read_state, write_state

KIND = "model"
MODEL = "model.safetensors"  # its name in the folder of a training
NEEDED = {"architecture", "shape", "classes", "normalisation", "features", "size", "seed", "scheme"}


@dataclass(frozen=True)
class Trained:
    """A network that classifies images of one shape, and all that is needed to use it."""

    network: nn.Module
    architecture: str
    """Its name in MODELS."""
    shape: tuple[int, int, int]
    classes: tuple[str, ...]
    normalisation: Normalisation = field(default_factory=Normalisation)
    """What the images that it was trained on went through, and those that it is asked about must."""
    features: str | None = None
    """The extractor whose features it takes instead of images."""
    size: int | None = None
    """The side that images were brought to before features were taken."""
    seed: int | None = None
    """Set: its training can be repeated by anyone, noise and keys too; made for a study."""

    def check(self, samples: Samples) -> None:
        """Refuse images that it was not made for."""
        if samples.shape != self.shape:
            raise BadInput(
                f"the model takes images of {describe_shape(self.shape)}, not of {describe_shape(samples.shape)}:"
                " load them to fit, or use another model."
            )
        if samples.labels.shape[1] not in (0, len(self.classes)):
            raise BadInput(
                f"the model tells {len(self.classes)} classes apart, and the images have {samples.labels.shape[1]}:"
                " use images of the same classes."
            )
        if samples.classes and samples.classes != self.classes and not all(name.isdecimal() for name in self.classes):
            raise BadInput(
                f"the model knows the classes {', '.join(self.classes)}, and the images are of"
                f" {', '.join(samples.classes)}: use images of the same classes, by the same names."
            )


def class_names(samples: Samples) -> tuple[str, ...]:
    """Give the names of the classes, numbers where they have none."""
    return samples.classes or tuple(map(str, range(samples.labels.shape[1])))


def write_model(path: Path, trained: Trained, scheme: dict[str, Any] | None = None) -> None:
    """Write a model; `scheme` describes how its training images were hidden, as far as it is public."""
    about = {
        "architecture": trained.architecture,
        "shape": trained.shape,
        "classes": trained.classes,
        "normalisation": vars(trained.normalisation),
        "features": trained.features,
        "size": trained.size,
        "seed": trained.seed,
        "scheme": scheme,
    }
    write_state(path, trained.network.state_dict(), about)


def read_model(path: Path) -> tuple[Trained, dict[str, Any] | None]:
    """Read a model, in evaluation mode, and the description of its scheme."""
    tensors, about = read_state(path, KIND)
    damaged = BadInput(f"{path} is not a {KIND} of hideseek, or of a newer one: train it again or update hideseek.")
    try:
        classes, normalisation = about["classes"], about["normalisation"]
        channels, height, width = (_count(side) for side in about["shape"])
        known = Normalisation(
            normalisation["kind"], tuple(map(_number, normalisation["mean"])), tuple(map(_number, normalisation["std"]))
        )
        if known.kind not in ("none", "channel", "image"):
            raise damaged
        if set(about) != NEEDED or set(normalisation) != {"kind", "mean", "std"} or not isinstance(classes, list):
            raise damaged
        with torch.device("meta"):  # where it takes no memory, whatever shape a stranger's file states
            planned = build(about["architecture"], (channels, height, width), len(classes)).state_dict()
        if {name: tensor.shape for name, tensor in planned.items()} != {name: t.shape for name, t in tensors.items()}:
            raise damaged
        network = build(about["architecture"], (channels, height, width), len(classes))
        network.load_state_dict(tensors)
        names = tuple(classes)
        if not all(isinstance(name, str) for name in names):
            raise damaged
        scheme, features = about["scheme"], about["features"]
        size, seed = about["size"], about["seed"]
        if not isinstance(features, str | None) or not all(isinstance(value, int | None) for value in (size, seed)):
            raise damaged
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError):
        raise damaged from None
    if not all(bool(tensor.isfinite().all()) for tensor in tensors.values()):
        raise BadInput(f"the model {path} has weights that are not finite numbers: train it again.")
    shape = (channels, height, width)
    return Trained(network.eval(), about["architecture"], shape, names, known, features, size, seed), scheme


def _count(value: object) -> int:
    if not isinstance(value, int) or not 0 < value < 1 << 20:
        raise ValueError(value)
    return value


def _number(value: object) -> float:
    if not isinstance(value, float) or not math.isfinite(value):
        raise ValueError(value)
    return value
