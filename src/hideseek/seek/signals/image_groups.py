"""The rows of each image, from the images of each row."""

import torch
from jaxtyping import Float, Int
from torch import Tensor


def image_groups(
    sources: Int[Tensor, "m k"], strengths: Float[Tensor, "m k"], images: int
) -> Int[Tensor, "images rows"]:
    """Give the rows that each image is in, the strongest first; −1 where an image is in fewer rows than others.

    >>> image_groups(torch.tensor([[0, 1], [1, 2]]), torch.tensor([[0.5, 0.5], [0.9, 0.1]]), 3)
    tensor([[ 0, -1],
            [ 1,  0],
            [ 1, -1]])
    """
    of = sources.flatten().long()
    order = strengths.flatten().argsort(descending=True, stable=True)
    order = order[of[order].argsort(stable=True)]
    counts = of.bincount(minlength=images)
    groups = torch.full((images, int(counts.max())), -1)
    nth = torch.arange(len(of)) - (counts.cumsum(0) - counts).repeat_interleave(counts)
    groups[of[order], nth] = order // sources.shape[1]
    return groups
