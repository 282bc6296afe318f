"""How large the model of updates is, before anything is computed."""

from functools import cache

import torch

from hideseek.models import build
from hideseek.records.shared_model import NetworkSize, SharedModel, network_size


def planned_network(model: str, shape: tuple[int, int, int], classes: int, start: SharedModel | None) -> NetworkSize:
    """Count what a model takes for one image: by its name, or as it was sent."""
    return _named(model, shape, classes) if start is None else network_size(start.build(), shape)


@cache
def _named(model: str, shape: tuple[int, int, int], classes: int) -> NetworkSize:
    with torch.device("meta"):  # where nothing is computed
        return network_size(build(model, shape, classes), shape)
