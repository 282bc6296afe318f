"""What training on mixed labels minimises, and how the images of a batch are varied."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from hideseek.train.loop import Objective


def soft_cross_entropy(logits: Float[Tensor, "n classes"], labels: Float[Tensor, "n classes"]) -> Float[Tensor, ""]:
    """Give −(1/n) Σ_i Σ_j y_ij log softmax(o_i)_j (Singularized Mixup, Eq. 7).

    The mass of a label may be under 1, as in cross-dataset InstaHide: the row then counts for that much.

    >>> round(float(soft_cross_entropy(torch.zeros(1, 4), torch.tensor([[0.25, 0.25, 0, 0]]))), 4)
    0.6931
    """
    return -(labels * functional.log_softmax(logits.float(), dim=1)).sum(1).mean()


def classification(*, augment: bool) -> Objective:
    """Give the objective of a classifier; it also watches how often the heaviest class is found."""

    def objective(network: nn.Module, batch: tuple[Tensor, ...]) -> tuple[Tensor, dict[str, Tensor]]:
        images, labels = batch
        logits = network(varied(images) if augment else images)
        right = logits.detach().argmax(1) == labels.argmax(1)
        return soft_cross_entropy(logits, labels), {"accuracy": right.float().mean()}

    return objective


def varied(images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
    """Shift every image by up to an eighth of its side, zeros coming in, and mirror half of them.

    An encoding that is shifted or mirrored is the encoding of images that were: the server may do it as well.
    """
    count, _, height, width = images.shape
    up, left = height // 8, width // 8
    padded = functional.pad(images, (left, left, up, up))
    down = torch.randint(2 * up + 1, (count, 1), device=images.device)
    right = torch.randint(2 * left + 1, (count, 1), device=images.device)
    mirrored = torch.rand(count, 1, device=images.device) < 0.5
    rows = torch.arange(height, device=images.device) + down
    columns = torch.arange(width, device=images.device)
    columns = torch.where(mirrored, columns.flip(0), columns) + right
    each = torch.arange(count, device=images.device)[:, None, None]
    moved = padded.permute(0, 2, 3, 1)[each, rows[:, :, None], columns[:, None, :]]
    return moved.permute(0, 3, 1, 2)  # channels last in memory, as the network wants them
