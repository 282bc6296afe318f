"""The process that trains: its device, and its rank among the processes that train together."""

import atexit
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache

import torch
from torch import distributed

from hideseek.device import device


@dataclass(frozen=True)
class Worker:
    """One process of `world`, with its device."""

    device: torch.device
    rank: int = 0
    world: int = 1

    @property
    def first(self) -> bool:
        """Tell whether this process prints and writes for all."""
        return self.rank == 0

    def agreed(self, content: bytes) -> bytes:
        """Give every process what the first one has; all must pass as many bytes.

        Between processes it goes unencrypted: several machines that train together need a network of their own.
        """
        if self.world == 1:
            return content
        tensor = torch.frombuffer(bytearray(content), dtype=torch.uint8).to(self.device)
        distributed.broadcast(tensor, src=0)
        return bytes(tensor.tolist())


@cache
def this_worker() -> Worker:
    """Give this process as a worker; processes that `torchrun` started are connected by the first call."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return Worker(device())
    chosen = device() if torch.cuda.is_available() else torch.device("cpu")  # no other device connects processes
    if chosen.type == "cuda":
        torch.cuda.set_device(chosen)
    distributed.init_process_group("nccl" if chosen.type == "cuda" else "gloo")
    atexit.register(_leave)
    return Worker(chosen, distributed.get_rank(), distributed.get_world_size())


def _leave() -> None:
    """Disconnect when all processes have come to their end: one that is still connected is torn down by the others."""
    with suppress(RuntimeError):  # one of them has failed, and is gone
        distributed.barrier()
    distributed.destroy_process_group()


@contextmanager
def torch_seed(seed: int) -> Iterator[None]:
    """Draw torch's own numbers, initial weights and dropout, from a seed, and leave its generator as it was."""
    with torch.random.fork_rng([torch.cuda.current_device()] if torch.cuda.is_available() else []):
        torch.manual_seed(seed)
        yield
