"""The gradient of a batch, and local steps by it: what a client computes, and an attacker computes again."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call

from hideseek.errors import BadInput


def soft_cross_entropy(logits: Float[Tensor, "n classes"], labels: Float[Tensor, "n classes"]) -> Float[Tensor, ""]:
    """Give the mean of −Σ_c y_c log p_c: the loss of one-hot labels, and of mixed ones."""
    return -(labels * logits.log_softmax(1)).sum(1).mean()


def parameters_of(network: nn.Module) -> dict[str, Tensor]:
    """Give copies of the parameters that are trained, by their names, ready to be differentiated by."""
    trained = {name: each for name, each in network.named_parameters() if each.requires_grad}
    if not trained:
        raise BadInput("the model has no parameter that is trained, so that there is no gradient to share.")
    return {name: each.detach().clone().requires_grad_() for name, each in trained.items()}


def gradient(
    network: nn.Module,
    parameters: Mapping[str, Tensor],
    images: Float[Tensor, "n c h w"],
    labels: Float[Tensor, "n classes"],
    *,
    differentiable: bool = False,
) -> dict[str, Tensor]:
    """Give the gradient of the mean loss of a batch by every parameter, in the network's own mode.

    `differentiable` keeps the graph, so that the gradient can be differentiated by the images and labels.
    """
    with explained():
        loss = soft_cross_entropy(functional_call(network, dict(parameters), (images,)), labels)
    found = torch.autograd.grad(
        loss, list(parameters.values()), create_graph=differentiable, allow_unused=True, materialize_grads=True
    )
    return dict(zip(parameters, found, strict=True))


def local_steps(
    network: nn.Module,
    parameters: Mapping[str, Tensor],
    images: Float[Tensor, "n c h w"],
    labels: Float[Tensor, "n classes"],
    batch: int,
    epochs: int,
    rate: float,
    *,
    differentiable: bool = False,
    order: Callable[[int], Tensor] | None = None,
    proximal: float = 0.0,
) -> dict[str, Tensor]:
    """Give the parameters after `epochs` passes over the images by plain SGD, in batches, in an order or in theirs.

    `proximal` is the μ of FedProx (Li et al. 2020): the loss has μ/2 ‖w − w₀‖² on top, with w₀ the first parameters.
    """
    current = dict(parameters)
    for _ in range(epochs):
        places = torch.arange(len(images)) if order is None else order(len(images))
        for some in places.split(batch):
            found = gradient(network, current, images[some], labels[some], differentiable=differentiable)
            if proximal:
                found = {name: each + proximal * (current[name] - parameters[name]) for name, each in found.items()}
            current = {name: each - rate * found[name] for name, each in current.items()}
            if not differentiable:
                current = {name: each.detach().requires_grad_() for name, each in current.items()}
    return current


@contextmanager
def explained() -> Iterator[None]:
    """Say in one sentence what torch refuses about a batch."""
    try:
        yield
    except ValueError as error:
        if "more than 1 value per channel" not in str(error):
            raise
        raise BadInput(
            "BatchNorm in train mode needs two values or more of every channel, and this batch has one: use a larger"
            " batch, or mode eval."
        ) from None
