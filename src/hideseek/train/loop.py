"""The steps of a training: one epoch after another, with what is measured and kept on the way."""

import hashlib
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from hideseek.errors import BadInput
from hideseek.train.checkpoint import Checkpoints, Position, write_checkpoint
from hideseek.train.training import Training
from hideseek.train.worker import Worker

SHOW_EVERY = 0.25  # seconds between two looks at the loss

Objective = Callable[[nn.Module, tuple[Tensor, ...]], tuple[Tensor, Mapping[str, Tensor]]]
"""Gives the loss of a batch, and what else to measure, each a mean over the batch."""


class Batches(Protocol):
    """What epochs are made of."""

    @property
    def steps(self) -> int:
        """How many batches an epoch has."""

    def epoch(self, number: int, first: int) -> Iterator[tuple[Tensor, ...]]:
        """Give the batches of an epoch from the batch `first` on, the same whenever it is asked for again."""


class Diverged(BadInput):
    """The loss is no number any more."""


@dataclass(frozen=True)
class StepSettings:
    """What decides a step."""

    objective: Objective
    training: Training
    worker: Worker
    layout: torch.memory_format
    mixed: bool


class Loop:
    """One epoch after another."""

    def __init__(
        self,
        network: nn.Module,
        batches: Batches,
        settings: StepSettings,
        optimiser: torch.optim.Optimizer,
        checkpoints: Checkpoints | None,
        position: Position,
    ) -> None:
        self.network, self.batches, self.settings, self.optimiser = network, batches, settings, optimiser
        self.worker, self.training = settings.worker, settings.training
        self.checkpoints, self.position = checkpoints, position
        self.model = _parallel(network, settings.worker)
        self.written = time.monotonic()

    def run(self, epoch: int, show: Callable[[int, str], None]) -> None:
        """Train on the batches of an epoch that are left."""
        position, steps = self.position, self.batches.steps
        self.model.train()
        sums = {name: torch.tensor(value, device=self.worker.device) for name, value in position.sums.items()}
        begun, shown = time.monotonic() - position.seconds, time.monotonic()
        for step, batch in enumerate(self.batches.epoch(epoch, position.step), start=position.step):
            torch.manual_seed(step_seed(position.seed, epoch, step, self.worker.rank))
            for name, value in self.step(batch, (epoch + (step + 0.5) / steps) / self.training.epochs).items():
                sums[name] = sums[name] + value if name in sums else value  # on the device, where nobody waits for it
            position.images += len(batch[0])
            now, last = time.monotonic(), step + 1 == steps
            due = self.checkpoints is not None and now - self.written >= self.checkpoints.every
            if due or last or now - shown > SHOW_EVERY:
                shown = now
                position.step, position.seconds = step + 1, now - begun
                position.sums = self.averaged(sums) if last else _numbers(sums)
                if not math.isfinite(position.sums["loss"]):
                    raise self.diverged()
                show(epoch * steps + step + 1, self.described())
                if due and not last:  # after the last batch, the epoch's measurements come first
                    self.checkpoint()

    def step(self, batch: tuple[Tensor, ...], share: float) -> dict[str, Tensor]:
        """Take one step down the gradient of one batch."""
        for group in self.optimiser.param_groups:
            group["lr"] = self.training.rate(share) * group.get("ratio", 1.0)
        device, rank, world = self.worker.device, self.worker.rank, self.worker.world
        own = [self.moved(part[rank * len(part) // world : (rank + 1) * len(part) // world]) for part in batch]
        self.optimiser.zero_grad()
        with torch.autocast(device.type, torch.bfloat16, enabled=self.settings.mixed):
            loss, measured = self.settings.objective(self.model, tuple(own))
        loss.backward()
        self.optimiser.step()
        return {"loss": loss.detach(), **measured}

    def averaged(self, sums: dict[str, Tensor]) -> dict[str, float]:
        """Give the mean of what all processes have measured on their shares."""
        if self.worker.world > 1:
            for value in sums.values():
                distributed.all_reduce(value.div_(self.worker.world))
        return _numbers(sums)

    def moved(self, tensor: Tensor) -> Tensor:
        """Move a part of a batch to the device."""
        if self.worker.device.type == "cuda" and tensor.device.type == "cpu":
            tensor = tensor.pin_memory()
        layout = self.settings.layout if tensor.ndim == 4 else torch.preserve_format
        return tensor.to(self.worker.device, non_blocking=True, memory_format=layout)

    def measured(self) -> dict[str, float]:
        """Give the epoch's means, and how fast it went."""
        means = {name: value / self.position.step for name, value in self.position.sums.items()}
        speed = self.position.images / max(self.position.seconds, 1e-9)
        rate = self.optimiser.param_groups[0]["lr"]
        epoch = self.position.epoch + 1
        return {"epoch": epoch, **means, "rate": rate, "images_per_second": speed, "seconds": self.position.seconds}

    def described(self) -> str:
        """Say how the epoch goes."""
        now = self.measured()
        accuracy = f"  accuracy {100 * now['accuracy']:.1f} %" if "accuracy" in now else ""
        speed = f"{now['images_per_second']:,.0f} images/s"
        return f"epoch {now['epoch']:.0f}/{self.training.epochs}  loss {now['loss']:.3f}{accuracy}  {speed}"

    def checkpoint(self) -> None:
        """Write a checkpoint, after checking that the weights are finite."""
        if not all(bool(tensor.isfinite().all()) for tensor in self.network.state_dict().values()):
            raise self.diverged()
        if self.checkpoints and self.worker.first:
            write_checkpoint(self.checkpoints, self.network, self.optimiser, self.position)
        self.written = time.monotonic()

    def diverged(self) -> Diverged:
        """Say what can be done."""
        kept = ""
        if self.checkpoints and self.checkpoints.path.exists():
            kept = f"; the last good state is kept in {self.checkpoints.path}"
        return Diverged(
            f"the training diverged in epoch {self.position.epoch + 1}, its loss is not a number any more: lower the"
            f" learning rate (now {self.training.optimiser.rate:g}) or normalise the images{kept}."
        )


def step_seed(seed: int, epoch: int, step: int, rank: int) -> int:
    """Give the seed of one step in one process, so that a resumed run draws what it would have drawn."""
    return int.from_bytes(hashlib.sha256(f"{seed} {epoch} {step} {rank}".encode()).digest()[:7], "little")


def _numbers(sums: dict[str, Tensor]) -> dict[str, float]:
    return {name: float(value) for name, value in sums.items()}


def _parallel(network: nn.Module, worker: Worker) -> nn.Module:
    """Make the processes of several average their gradients."""
    if worker.world == 1:
        return network
    if worker.device.type == "cuda":
        return DistributedDataParallel(nn.SyncBatchNorm.convert_sync_batchnorm(network), [worker.device.index])
    return DistributedDataParallel(network)
