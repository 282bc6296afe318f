"""The one training loop, for those who learn from releases and for the networks that attacks train."""

from collections.abc import Callable
from contextlib import nullcontext

import torch
from torch import nn

from hideseek.progress import meter
from hideseek.train.checkpoint import Checkpoints, Position, read_checkpoint
from hideseek.train.loop import Batches, Loop, Objective, StepSettings
from hideseek.train.training import Training
from hideseek.train.worker import Worker, this_worker, torch_seed


def fit(
    network: nn.Module,
    batches: Batches,
    objective: Objective,
    training: Training,
    *,
    seed: int = 0,
    worker: Worker | None = None,
    optimiser: torch.optim.Optimizer | None = None,
    checkpoints: Checkpoints | None = None,
    layout: torch.memory_format = torch.channels_last,
    mixed: bool = True,
    after_epoch: Callable[[list[dict[str, float]]], None] = lambda _: None,
) -> list[dict[str, float]]:
    """Train a network in place and return what was measured, one dictionary an epoch.

    Where the file of `checkpoints` exists, the training resumes from it. `after_epoch` gets all that was measured so
    far and may add to it. Every process of several takes its share of each batch, and their gradients are averaged, so
    that they do what one would; they share the checkpoint's folder. `layout` is how images lie in memory. `mixed` lets
    a GPU compute in bfloat16 where that is safe. `seed` is for dropout and augmentation; the caller initialises the
    weights.

    Deviation: BatchNorm sees the whole batch on GPUs; on processors, each process's share of it.
    """
    worker = worker or this_worker()
    network.to(worker.device).to(memory_format=layout)  # type: ignore[call-overload] # torch's stub lacks it
    optimiser = optimiser or training.optimiser.build(network.parameters())
    with torch_seed(seed):
        position = Position(seed)
        if checkpoints and checkpoints.path.exists():
            position = read_checkpoint(checkpoints, network, optimiser)
        settings = StepSettings(objective, training, worker, layout, mixed and _can_mix(worker.device))
        loop = Loop(network, batches, settings, optimiser, checkpoints, position)
        with meter(training.epochs * batches.steps) if worker.first else nullcontext(_silent) as show:
            for epoch in range(position.epoch, training.epochs):
                loop.run(epoch, show)
                position.history.append(loop.measured())
                after_epoch(position.history)
                position.begin(epoch + 1)
                loop.checkpoint()
    return position.history


def _silent(done: int, text: str) -> None:
    pass


def _can_mix(device: torch.device) -> bool:
    return device.type == "cuda" and torch.cuda.is_bf16_supported()
