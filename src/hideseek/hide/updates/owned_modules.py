"""Modules that a caller builds: a new one every time, which classifies images like those of the updates."""

from collections.abc import Callable
from copy import deepcopy

import torch
from torch import Tensor, nn

from hideseek.errors import BadInput
from hideseek.records.samples import describe_shape
from hideseek.records.shared_model import SharedModel
from hideseek.records.update_encoder import LocalWork, Mode
from hideseek.train.gradients import explained

PROBES = 2  # images that tell what a module takes and gives


def new_each_time(build: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
    """Give a builder whose modules may be changed: what some builders give is the module that they gave before."""
    if isinstance(build, nn.Module):
        raise BadInput("build is a module: give the function that builds it, such as its class.")
    return lambda: deepcopy(build())


def check_takes(model: SharedModel, shape: tuple[int, int, int], classes: int, mode: Mode, work: LocalWork) -> None:
    """Run a module on black images, and refuse one that does not give a logit of every class for each of them."""
    network, images = model.network().eval(), torch.zeros(PROBES, *shape)
    try:
        with torch.no_grad():
            logits = network(images)
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        why = str(error).strip().partition("\n")[0].rstrip(".")
        raise BadInput(
            f"{model.name} does not take images of {describe_shape(shape)} ({why}): give the shape of the client's"
            " images, and a module that takes nothing else."
        ) from None
    found = f"a tensor of {tuple(logits.shape)}" if isinstance(logits, Tensor) else f"a {type(logits).__name__}"
    if not isinstance(logits, Tensor) or tuple(logits.shape) != (PROBES, classes):
        raise BadInput(
            f"{model.name} gives {found} for {PROBES} images, not one of ({PROBES}, {classes}), their logits: give its"
            " number of classes, or wrap it in a module that gives logits alone."
        )
    if mode == "train" and work.batch == 1 and "images" not in work.unknown:
        with torch.no_grad(), explained():
            network.train()(images[:1])
