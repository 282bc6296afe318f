"""The label of every row of an update, where the inputs of its first dense layer are known.

The layer's gradient is A = Σ_i δ_i x̃_i', so that inputs tell δ by least squares. Behind the layer it is δ_i =
J_i' (p_i − y_i) / n: J_i, the derivative of the logits by what the layer gives, and p_i follow from the input, and y_i
from all of them. The last layer by itself (`head_labels`) tells the label of one row, and of several their mean alone.
"""

import torch
from jaxtyping import Bool, Float
from scipy.optimize import linear_sum_assignment
from torch import Tensor, nn

from hideseek.seek.systems.head_labels import on_simplex
from hideseek.train.first_dense import FirstDense
from hideseek.train.gradients import explained

RIDGE = 1e-9  # of the mean of a neuron's squares: neurons of which nothing was sent have no equation


def row_labels(
    network: nn.Module,
    layer: FirstDense,
    matrix: Float[Tensor, "neurons inputs"],
    images: Float[Tensor, "n c h w"],
    known: Bool[Tensor, "neurons inputs"] | None = None,
) -> Float[Tensor, "n classes"]:
    """Give the labels of the images of an update, by the gradient of a layer; the network is in the client's mode.

    `known` says which entries were not pruned; None: all.
    """
    inputs = layer.inputs(images, matrix.shape[1])
    if known is None:
        errors = torch.linalg.lstsq(inputs.T, matrix.double().T, driver="gelsd").solution
    else:
        errors = _by_known_entries(inputs, matrix.double(), known)
    errors = errors * len(images)  # images × neurons
    slopes, shares = _slopes(network, layer.name, images)
    found = torch.linalg.lstsq(slopes, errors[:, :, None], driver="gelsd").solution[:, :, 0]
    labels = shares - found.nan_to_num()
    return torch.stack([on_simplex(label) for label in labels]).float()


def _by_known_entries(inputs: Tensor, matrix: Tensor, known: Tensor) -> Tensor:
    """Give δ of every neuron by those of its entries that were sent: normal equations, images × neurons."""
    some = known.double()
    pairs = (inputs[:, None] * inputs[None]).flatten(0, 1)  # images² × inputs
    normal = (some @ pairs.T).view(-1, len(inputs), len(inputs))
    ridge = RIDGE * normal.diagonal(dim1=1, dim2=2).mean(1).clamp_min(1e-30)[:, None, None]
    normal = normal + ridge * torch.eye(len(inputs), dtype=normal.dtype)
    found: Tensor = torch.linalg.solve(normal, (matrix * some) @ inputs.T).T
    return found


def same_order(found: Float[Tensor, "n classes"], given: Float[Tensor, "n classes"]) -> list[int]:
    """Give the place of what was found for each label that is given: one to one, the nearest on the whole."""
    _, places = linear_sum_assignment(torch.cdist(given.double(), found.double()).numpy())
    order: list[int] = places.tolist()
    return order


def _slopes(network: nn.Module, name: str, images: Tensor) -> tuple[Tensor, Tensor]:
    """Give ∂z_c/∂u of every image, u what the layer gives, images × neurons × classes; and the softmax of z."""
    seen: list[Tensor] = []
    network = network.double()
    handle = network.get_submodule(name).register_forward_hook(lambda *given: seen.append(given[2]))
    try:
        with torch.enable_grad(), explained():
            logits = network(images.double())
    finally:
        handle.remove()
    columns = [
        torch.autograd.grad(logits[:, number].sum(), seen[0], retain_graph=True)[0].flatten(1)
        for number in range(logits.shape[1])
    ]
    return torch.stack(columns, 2).detach(), logits.detach().softmax(1)
