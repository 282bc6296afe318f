"""What LPIPS has where nothing was recovered: the mean of all images, another image of the class, noise.

python studies/gradient_inversion.py --only floors
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from inversion.columns import EACH, TARGETS, attacked_images
from inversion.measured import NET
from ledger import Trial
from torch import Tensor

from hideseek.chance import seeded
from hideseek.hide.updates import ShareUpdates
from hideseek.score.ground_truth import Matched
from hideseek.score.perceptual import lpips

FLOORS = ("mean image", "another image of the class", "noise")


def trials(scale: str) -> Iterator[Trial]:
    """Give every floor; they are the same at all scales."""
    for name in FLOORS:
        yield Trial("floors", title(name), {"targets": TARGETS, "net": NET}, partial(_measured, name))


def title(name: str) -> str:
    """Name a floor."""
    return f"floors: {name}"


def guesses(name: str, images: Tensor) -> Tensor:
    """Guess without a gradient; targets go through the classes, so that the next of a class is ten places on."""
    if name == "noise":
        return seeded(0).normals(*images.shape)
    return images.mean(0).expand_as(images) if name == "mean image" else images.roll(-(len(images) // EACH), 0)


def _measured(name: str) -> dict[str, Any]:
    private = attacked_images(TARGETS)
    _, secret = ShareUpdates("linear", 1, mode="eval").hide(private, None, seeded(0))
    claim = Matched(guesses(name, private.pixels()), torch.arange(TARGETS), "images")
    values = lpips(NET, claim, secret)
    return {"lpips": round(float(values.mean()), 4), "best lpips": round(float(values.min()), 4)}
