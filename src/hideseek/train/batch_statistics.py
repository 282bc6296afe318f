"""What batch norm sees: the mean and variance of the inputs of every layer, for a batch."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

Statistics = dict[str, tuple[Tensor, Tensor]]
"""Mean and variance (over n, not n − 1) of each channel, by the names of batch-norm layers."""


def batch_norms(network: nn.Module) -> dict[str, _BatchNorm]:
    """Give the batch-norm layers by their names."""
    return {name: each for name, each in network.named_modules() if isinstance(each, _BatchNorm)}


@contextmanager
def watched(network: nn.Module) -> Iterator[Statistics]:
    """Give a dict that every forward pass fills while the context is open; what it holds can be differentiated."""
    seen: Statistics = {}

    def see(name: str) -> object:
        def look(module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
            values = inputs[0].transpose(0, 1).flatten(1)
            seen[name] = values.mean(1), values.var(1, unbiased=False)

        return look

    handles = [layer.register_forward_pre_hook(see(name)) for name, layer in batch_norms(network).items()]  # type: ignore[arg-type]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


def batch_statistics(network: nn.Module, images: Float[Tensor, "n c h w"]) -> Statistics:
    """Give the statistics of a batch, in the network's own mode; running ones are not changed."""
    kept = {name: tensor.clone() for name, tensor in network.named_buffers()}
    with torch.no_grad(), watched(network) as seen:
        network(images)
        for name, tensor in network.named_buffers():
            tensor.copy_(kept[name])
    return {name: (mean.detach(), variance.detach()) for name, (mean, variance) in seen.items()}
