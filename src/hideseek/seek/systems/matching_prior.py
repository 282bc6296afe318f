"""What gradient matching expects of images, with its derivative."""

from dataclasses import dataclass
from typing import Self

from torch import Tensor

from hideseek.seek.systems.image_total_variation import total_variation


@dataclass(frozen=True)
class Prior:
    """What an attacker expects of images: smooth ones, and not large ones."""

    total_variation: float = 0.0
    """The weight of mean |∂x| + mean |∂y|."""
    squares: float = 0.0
    """The weight of the mean of x²."""

    def times(self, factor: float) -> Self:
        """Give the same prior, weighted by a factor."""
        return type(self)(self.total_variation * factor, self.squares * factor)

    def __call__(self, images: Tensor, *, masked: bool, weight: float = 1.0) -> tuple[float, Tensor | None]:
        """Give the penalty, and its derivative by the images."""
        value, derivative = 0.0, None
        if self.total_variation:
            found, by_images = total_variation(images.detach(), masked=masked)
            factor = weight * self.total_variation
            value, derivative = factor * float(found), by_images * factor
        if self.squares:
            pixels = images.detach()
            factor = weight * self.squares
            value += factor * float(pixels.square().mean())
            slope = pixels * (2 * factor / pixels.numel())
            derivative = slope if derivative is None else derivative + slope
        return value, derivative
