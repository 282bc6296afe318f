"""How large a release is: what the work of an attack is told from, and whether there is room for it."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    """Counts of a release, known before it is made."""

    items: int
    """What is shared, one by one: rows (private images times rounds), or updates."""
    images: int
    """Private images."""
    pixels: int
    """Numbers of an image: channels × height × width."""
    public: int = 0
    """Public images that are mixed in, or larger ones that they were cut from; 0 where there are none."""
    public_pixels: int = 0
    """Numbers of a public image, where it is larger than an item; 0: as many as an item has."""
    own: int = 0
    """Images of the attacker's own, to try things on."""
    images_per_item: int = 2
    """Images in an item, private and public."""
    masked: bool = False
    """Whether signs are flipped at random."""
    channels: int = 1
    """Of an image: the cost of a network grows with its positions, which are pixels over channels."""
    network: float = 0.0
    """Multiplications of a forward pass of one image through the model that updates are of; 0: there is none."""
    parameters: int = 0
    """Numbers of an update."""
    batch_statistics: bool = False
    """Whether the model has batch norm that takes the statistics of the batch."""


def release_bytes(images: int, rounds: int, shape: tuple[int, int, int], classes: int) -> int:
    """Tell how many bytes encodings have: a 32-bit number for every pixel and every class of every row.

    >>> release_bytes(160, 10, (1, 25, 25), 2)
    4012800
    """
    return 4 * images * rounds * (math.prod(shape) + classes)
