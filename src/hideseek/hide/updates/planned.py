"""How large the model of updates is, before anything is computed."""

from functools import cache

import torch

from hideseek.models import MODELS, build
from hideseek.records.shared_model import NetworkSize, SharedModel, network_size


def planned_network(model: str, shape: tuple[int, int, int], classes: int, start: SharedModel | None) -> NetworkSize:
    """Count what a model takes for one image: by its name, or as it was sent where that is no name of ours."""
    if start is None or model in MODELS:
        return _named(model, shape, classes)
    return network_size(start.build(), shape)


@cache
def _named(model: str, shape: tuple[int, int, int], classes: int) -> NetworkSize:
    with torch.device("meta"):  # where nothing is computed
        return network_size(build(model, shape, classes), shape)
