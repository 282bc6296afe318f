"""A training's state on disk, so that a training that was stopped resumes to the same result."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter
from torch import Tensor, nn

from hideseek.errors import BadInput
from hideseek.train.state_files import read_state, write_state

KIND = "checkpoint"


@dataclass(frozen=True)
class Checkpoints:
    """The file of the last checkpoint, how often it is written, and the run that it belongs to."""

    path: Path
    every: float = 30.0
    """Seconds between two checkpoints; one is written after each epoch in any case."""
    owner: Mapping[str, Any] = field(default_factory=dict)
    """The settings of the run: a checkpoint of other settings is refused."""


@dataclass
class Position:
    """How far a training is: `step` batches into `epoch`, with the sums of this epoch and the epochs before."""

    seed: int
    epoch: int = 0
    step: int = 0
    images: int = 0
    seconds: float = 0.0
    sums: dict[str, float] = field(default_factory=dict)
    history: list[dict[str, float]] = field(default_factory=list)

    def begin(self, epoch: int) -> None:
        """Go to the beginning of an epoch."""
        self.epoch, self.step, self.images, self.seconds, self.sums = epoch, 0, 0, 0.0, {}


def write_checkpoint(
    checkpoints: Checkpoints, network: nn.Module, optimiser: torch.optim.Optimizer, position: Position
) -> None:
    """Write all that decides how the training continues."""
    tensors = {f"network.{name}": tensor for name, tensor in network.state_dict().items()}
    for number, state in optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser.{number}.{name}": value for name, value in state.items() if isinstance(value, Tensor)}
    write_state(checkpoints.path, tensors, {"owner": dict(checkpoints.owner), "position": vars(position)})


def seed_of(path: Path) -> int:
    """Give the seed that the run of a checkpoint was begun with: of what is no secret, such as the order of batches."""
    try:
        return int(read_state(path, KIND)[1]["position"]["seed"])
    except (KeyError, TypeError, ValueError):
        raise BadInput(f"the checkpoint {path} lacks its seed: begin again in another folder.") from None


def read_checkpoint(checkpoints: Checkpoints, network: nn.Module, optimiser: torch.optim.Optimizer) -> Position:
    """Put a training back to where its checkpoint was written."""
    tensors, about = read_state(checkpoints.path, KIND)
    written, owner = about.get("owner"), dict(checkpoints.owner)
    if written != owner:
        written = written if isinstance(written, dict) else {}
        differing = sorted(key for key in written.keys() | owner.keys() if written.get(key) != owner.get(key))
        raise BadInput(
            f"the checkpoint {checkpoints.path} belongs to a run with other settings ({', '.join(differing)}): resume"
            " with the settings that it was begun with, or choose another folder."
        )
    try:
        if set(about) != {"owner", "position"} or not all(
            bool(tensor.isfinite().all()) for tensor in _part(tensors, "network.").values()
        ):
            raise ValueError
        network.load_state_dict(_part(tensors, "network."))
        states: dict[int, dict[str, Tensor]] = {}
        for name, tensor in _part(tensors, "optimiser.").items():
            number, _, key = name.partition(".")
            states.setdefault(int(number), {})[key] = tensor
        parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
        for index, state in states.items():
            for key, tensor in state.items():
                if tensor.shape == parameters[index].shape:  # laid out alike, or every step would copy it
                    state[key] = torch.empty_like(parameters[index]).copy_(tensor)
        optimiser.load_state_dict({**optimiser.state_dict(), "state": states})
        return _position(about["position"])
    except (KeyError, IndexError, RuntimeError, TypeError, ValueError, AttributeError):
        path = checkpoints.path
        raise BadInput(f"the checkpoint {path} does not fit this model: begin again in another folder.") from None


def _position(described: dict[str, Any]) -> Position:
    """Build a position; what cannot be is a ValueError."""
    position = TypeAdapter(Position).validate_json(json.dumps(described), strict=True)
    counts = (position.epoch, position.step, position.images, position.seconds)
    if set(described) != set(vars(position)) or min(counts) < 0 or len(position.history) != position.epoch:
        raise ValueError
    return position


def _part(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
