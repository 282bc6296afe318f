"""Who knows what batch norm saw: the strongest attacker, whoever has running statistics, one with images, or nobody."""

from typing import Literal

import torch
from torch import nn

from hideseek.records.update_release import UpdateRelease
from hideseek.seek.systems.batch_norm_aims import derived, proxy
from hideseek.train.batch_statistics import Statistics, batch_norms

Knowledge = Literal["offered", "none", "exact", "running", "own"]
OWN = 256  # images that proxy statistics are taken from


def offered(release: UpdateRelease) -> Knowledge:
    """Name the best that a release offers: running statistics around a step, those of own images, or nothing.

    In eval mode batch norm is fixed, and what it saw of the batch is in no buffer; images are found without it.
    """
    if release.scheme.mode != "train":
        return "none"
    if release.buffers is not None and "steps" not in release.scheme.work.unknown:
        return "running"
    return "own" if release.own is not None and release.own.shape == release.shape else "none"


def known_statistics(
    release: UpdateRelease,
    number: int,
    network: nn.Module,
    how: Knowledge,
    size: int,
    proxies: dict[int, Statistics] | None = None,
) -> Statistics:
    """Give what an attacker knows of what batch norm saw of an update, in the network's precision.

    What it sees of own images is the same for all updates of a model: `proxies` keeps it, by the model's number.
    """
    how = offered(release) if how == "offered" else how
    if how == "none" or not batch_norms(network):
        return {}
    some, found = next(network.parameters()), {}
    if how == "exact" and release.statistics is not None:
        found = release.statistics[number]
    elif how == "running" and offered(release) == "running" and release.buffers is not None:
        before, after = release.model(number).state, release.buffers[number]
        found = derived(network, before, after, step_sizes(release, size), release.shape)
    elif how == "own" and release.own is not None:
        proxies, model = {} if proxies is None else proxies, number if len(release.models) > 1 else 0
        if model not in proxies:
            proxies[model] = proxy(network, release.own.pixels(slice(0, OWN)).to(some))
        found = proxies[model]
    return {name: (mean.to(some), variance.to(some)) for name, (mean, variance) in found.items()}


def step_sizes(release: UpdateRelease, size: int) -> list[int]:
    """Give the images of every local step, in order; the last of an epoch may have fewer."""
    work = release.scheme.work.for_images(size)
    return [min(work.batch, size - first) for first in range(0, size, work.batch)] * work.epochs


def fix(network: nn.Module, aims: Statistics) -> None:
    """Let batch norm take these statistics in place of a batch's own, from now on."""
    with torch.no_grad():
        for name, layer in batch_norms(network).items():
            if name in aims and layer.running_mean is not None and layer.running_var is not None:
                layer.running_mean.copy_(aims[name][0])
                layer.running_var.copy_(aims[name][1])
                layer.eval()
