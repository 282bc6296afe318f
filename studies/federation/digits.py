"""The images of both protocols: digits that ten parties have, those that the server tests with, and the attacker's."""

from functools import cache
from pathlib import Path

import numpy as np
from torch import Tensor

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.data.cache import cache_folder, keep
from hideseek.records import Normalisation, Samples

DATA, SIDE = "mnist", 14  # pixels: a network takes a quarter of the time of 28
PARTIES, IMAGES = 10, 1_000
TESTED, OTHERS = 2_000, 4_000
ALPHA = 0.3  # of the Dirichlet split
PANEL = "digits, 10 parties"
SPLITS: dict[str, float | None] = {"even": None, "Dirichlet(0.3)": ALPHA}


@cache
def _places() -> tuple[Tensor, Tensor]:
    """Draw who is in the federation, and others of the same set, who are not."""
    order = seeded(0).permutation(len(load(DATA)))
    return order[:IMAGES].sort().values, order[IMAGES : IMAGES + OTHERS].sort().values


@cache
def address() -> str:
    """Write the digits of all parties to a file, and say where they are."""
    path: Path = cache_folder() / "federated" / f"{DATA}-{IMAGES}.npz"
    if not path.exists():
        images = load(DATA).take(_places()[0])
        classes = np.array(images.classes)
        keep(path, {"x": images.images.numpy(), "y": images.labels.argmax(1).numpy(), "classes": classes})
    return f"npz:{path}"


@cache
def private() -> Samples:
    """Give the digits of all parties, normalised by what they agree on."""
    return normalise(load(address(), size=SIDE), "channel")


def constants() -> Normalisation:
    """Give what all normalise by."""
    return private().normalisation


@cache
def others() -> Samples:
    """Give digits that no party has: an attacker's own, and those of galleries."""
    return normalise(load(DATA, size=SIDE).take(_places()[1]), constants())


@cache
def tested() -> Samples:
    """Give the digits that the server tests with."""
    return normalise(load(f"{DATA}?split=test", size=SIDE).take(slice(0, TESTED)), constants())
