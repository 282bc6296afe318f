"""Moving images before they are mixed, so that a pixel of an image is not in the same place of all its rows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.errors import BadInput


@dataclass(frozen=True)
class Geometry:
    """A random shift, crop, rotation and flip, drawn anew for every use of every image (Luo et al. 2022).

    Each is off at its default. What comes into the picture from outside is its mirror image.
    """

    mechanism: ClassVar[str] = "geometry"
    """The name in files, as a part of a scheme."""

    shift: float = 0.0
    """Move images by up to this share of the side, in each direction."""
    crop: float = 1.0
    """Keep at least this share of the side, enlarged."""
    rotation: float = 0.0
    """Turn by up to so many degrees, either way."""
    flip: bool = False
    """Mirror left and right, every second time."""

    def __post_init__(self) -> None:
        if not (0 <= self.shift < 1 and 0 < self.crop <= 1 and 0 <= self.rotation <= 180):
            raise BadInput("shift must be in [0, 1), crop in (0, 1] and rotation in [0, 180] degrees.")

    def draw(self, uses: Sequence[int], size: tuple[int, int], chance: Randomness) -> Float[Tensor, "*uses 2 3"]:
        """Draw a map for every use of an image, from a place in the moved image to one in the original.

        Places are in [−1, 1], x first. θ = [zoom · F · R(angle) | shift], with R in pixels, so that a picture that is
        not square is turned and not sheared.
        """
        u = 2 * chance.uniforms(5, *uses).float() - 1
        angle = u[0] * math.radians(self.rotation)
        zoom = 1 - (1 - self.crop) * (u[1] + 1) / 2
        room = 1 - zoom  # a smaller window may lie anywhere in the picture
        mirror = torch.where(u[2] < 0, -1.0, 1.0) if self.flip else torch.ones(*uses)
        height, width = size
        aspect = height / width
        rows = [
            [zoom * mirror * angle.cos(), -zoom * mirror * angle.sin() * aspect, (room + 2 * self.shift) * u[3]],
            [zoom * angle.sin() / aspect, zoom * angle.cos(), (room + 2 * self.shift) * u[4]],
        ]
        return torch.stack([torch.stack(row, dim=-1) for row in rows], dim=-2)
