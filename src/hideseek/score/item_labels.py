"""What the labels of items tell anybody."""

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.records.secret import Secret

BY_SIZE = "classes by size"  # the name of a baseline


def item_labels(secret: Secret) -> Float[Tensor, "m classes"]:
    """Give the labels of all items, ỹ_r = Σ_j λ_rj y_j over the private images that they hold."""
    items = torch.arange(secret.items)
    shares = secret.shares(items).double()  # 0 where there is no image
    return torch.einsum("mk,mkc->mc", shares, secret.private.labels.cpu().double()[secret.holds(items).clamp_min(0)])


def classes_by_size(
    labels: Float[Tensor, "m classes"], secret: Secret
) -> tuple[Float[Tensor, "m classes"], Float[Tensor, "m classes"]]:
    """Give which classes are in an item, and the same divided by how many private images are of the class."""
    within = (labels > 0).double()
    return within, within / secret.private.labels.cpu().double().sum(0).clamp_min(1e-12)
