"""Images that were moved before they were shared: guesses are judged by what was shared, too."""

import torch
from jaxtyping import Int
from torch import Tensor

from hideseek.records.secret import Secret

VERSIONS = 4  # of an image, as it was moved in so many items, that a guess about no item in particular is judged by


def items_of(secret: Secret) -> Int[Tensor, "images versions"]:
    """Give the first few items that hold each private image; −1: no more do."""
    found = torch.full((len(secret.private), VERSIONS), -1, dtype=torch.int64)
    held = secret.holds(torch.arange(secret.items))
    images = held.flatten()
    items = torch.arange(secret.items).repeat_interleave(held.shape[1])
    order = images.argsort(stable=True)
    images, items = images[order], items[order]
    place = torch.arange(len(images)) - torch.searchsorted(images, images)  # among those of the same image
    kept = (images >= 0) & (place < VERSIONS)
    found[images[kept], place[kept]] = items[kept]
    return found
