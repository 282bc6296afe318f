"""What images of the attacker's own would have sent: updates of single images, many at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from hideseek.chance import Randomness
from hideseek.progress import track
from hideseek.records import Samples
from hideseek.records.shared_model import SharedModel
from hideseek.records.update_encoder import UpdateEncoder
from hideseek.train.gradients import parameters_of, soft_cross_entropy

TOGETHER = 64  # images whose gradients are taken at a time
NUMBERS = 30_000_000  # of these gradients, at most


def labelled(own: Samples, classes: int, chance: Randomness) -> Samples:
    """Give own images with labels of so many classes: theirs, or drawn ones, since a gradient takes some label."""
    if own.labels.shape[1] == classes:
        return own
    return replace(own, labels=torch.eye(classes)[chance.integers(classes, len(own))], classes=())


def own_updates(
    scheme: UpdateEncoder, model: SharedModel, own: Samples, chance: Randomness
) -> Iterator[dict[str, Tensor]]:
    """Give the update of every image by itself, as the scheme sends it.

    Gradients of many images are taken in one pass where each is of its image alone; that is not so with dropout and
    batch norm in train mode, nor for several local steps, where the scheme computes one after the other.
    """
    network = model.network().train(scheme.mode == "train")
    if not _separate(scheme, network):
        for number in track(range(len(own)), "own updates"):
            yield scheme.update(model, own.take(slice(number, number + 1)), chance)[0]
        return
    parameters = {name: each.detach() for name, each in parameters_of(network).items()}

    def loss(weights: dict[str, Tensor], image: Tensor, label: Tensor) -> Tensor:
        return soft_cross_entropy(functional_call(network, weights, (image[None],)), label[None])

    gradients = vmap(grad(loss), in_dims=(None, 0, 0))
    factor = scheme.work.rate if scheme.sends == "weights" else 1.0
    together = max(1, min(TOGETHER, NUMBERS // sum(each.numel() for each in parameters.values())))
    for start in track(range(0, len(own), together), "own updates"):
        some = own.take(slice(start, start + together))
        found = gradients(parameters, some.pixels(), some.labels)
        for number in range(len(some)):
            update = {name: each[number] * factor for name, each in found.items()}
            for defence in scheme.defences:
                update = defence.apply(update, chance)
            yield update


def _separate(scheme: UpdateEncoder, network: nn.Module) -> bool:
    """Tell whether the gradient of an image is a function of it and the weights alone."""
    mixing = (nn.modules.batchnorm._BatchNorm, nn.modules.dropout._DropoutNd)
    drawn = any(isinstance(layer, mixing) and layer.training for layer in network.modules())
    return not drawn and (scheme.sends == "gradient" or scheme.work.one_gradient)
