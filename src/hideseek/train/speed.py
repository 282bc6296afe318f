"""How fast this machine is: at products of matrices, and in training a network."""

import time
from collections.abc import Callable
from functools import cache

import torch
from torch.nn import functional

from hideseek.device import device
from hideseek.models import build
from hideseek.models.classifier import Shape
from hideseek.train.training import LARGE, SGD, Muon
from hideseek.train.worker import torch_seed

SIDE = 1024  # of the matrices that are multiplied
INSTANT = 0.12  # seconds that a product is timed
LONG = 0.8  # seconds that a training is timed


@cache
def unit_seconds() -> float:
    """Tell how long a multiplication with its addition takes in a large product of float32 matrices, here.

    That is the unit in which attacks count their work. It is timed for an instant, once.
    """
    place = device()
    with torch_seed(0):
        left, right = torch.randn(2, SIDE, SIDE, device=place)
    return _seconds(lambda: left @ right, INSTANT, place) / SIDE**3


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
    optimiser = (Muon() if batch >= LARGE else SGD()).build(network.parameters())

    def step() -> None:
        optimiser.zero_grad()
        functional.cross_entropy(network(images), labels).backward()
        optimiser.step()

    return step


def _seconds(work: Callable[[], object], seconds: float, place: torch.device) -> float:
    """Time some work again and again for some seconds, after twice to warm up; give the shortest time.

    What other work takes from the machine comes and goes, and a step that has to wait for a thread may take many times
    as long; the shortest time is what the machine can do. On a processor, only the work of this thread counts.
    """
    clock = time.thread_time if place.type == "cpu" else time.perf_counter
    work()
    work()
    times: list[float] = []
    while sum(times) < seconds or len(times) < 5:
        started = clock()
        work()
        if place.type != "cpu":
            torch.accelerator.synchronize()
        times.append(clock() - started)
    return min(times)
