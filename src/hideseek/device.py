"""The device that tensors are computed on."""

import os

import torch


def device() -> torch.device:
    """Choose the fastest device that is there."""
    if torch.cuda.is_available():
        return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")
