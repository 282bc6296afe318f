"""How fast this machine is: beside the reference that attacks were timed on, and in training a network."""

import math
import time
from collections.abc import Callable
from functools import cache

import torch
from torch.nn import functional

from hideseek.device import device
from hideseek.models import build
from hideseek.models.classifier import Shape
from hideseek.train.training import SGD
from hideseek.train.worker import torch_seed

SIDE = 1024  # of the matrices that are multiplied
BATCH = 64  # of the steps that are timed
PRODUCT = 0.011  # seconds of such a product on the reference machine, two cores of a processor
STEP = 0.0175  # seconds of such a step of small-resnet there
SHARE = 0.12  # seconds that each of the two is timed
SLOWEST = 5.0  # times: what seems slower still is busy at the moment
LONG = 0.8  # seconds that a training is timed


@cache
def pace() -> float:
    """Tell how many times slower this machine is than the reference, at products of matrices and at training.

    Both are timed for an instant, and their mean is geometric; more than five times is not believed.
    """
    place = device()
    with torch_seed(0):
        left, right = torch.randn(2, SIDE, SIDE, device=place)
    product = _seconds(lambda: left @ right, SHARE, place)
    step = _seconds(_training("small-resnet", (3, 32, 32), 10, BATCH, place), SHARE, place)
    return min(SLOWEST, math.sqrt(product / PRODUCT * (step / STEP)))


def training_speed(model: str, shape: Shape, classes: int, batch: int) -> float:
    """Tell how many images a second a network is trained on here, by some steps on random ones, for about a second."""
    place = device()
    return batch / _seconds(_training(model, shape, classes, batch, place), LONG, place)


def _training(model: str, shape: Shape, classes: int, batch: int, place: torch.device) -> Callable[[], object]:
    """Give the function that takes a step of training, as `fit` does."""
    with torch_seed(0):
        network = build(model, shape, classes).to(place).train()
        network.to(memory_format=torch.channels_last)  # type: ignore[call-overload] # torch's stub lacks it
        images = torch.randn(batch, *shape, device=place).to(memory_format=torch.channels_last)
        labels = torch.rand(batch, classes, device=place).softmax(1)
    optimiser = SGD().build(network.parameters())

    def step() -> None:
        optimiser.zero_grad()
        functional.cross_entropy(network(images), labels).backward()
        optimiser.step()

    return step


def _seconds(work: Callable[[], object], seconds: float, place: torch.device) -> float:
    """Time some work again and again for some seconds, after twice to warm up; give the shortest time.

    What other work takes from the machine comes and goes, and a step that has to wait for a thread may take many times
    as long; the shortest time is what the machine can do.
    """
    work()
    work()
    times: list[float] = []
    while sum(times) < seconds or len(times) < 5:
        started = time.perf_counter()
        work()
        if place.type != "cpu":
            torch.accelerator.synchronize()
        times.append(time.perf_counter() - started)
    return min(times)
