"""Images moved by affine maps."""

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional


def moved(images: Float[Tensor, "n c h w"], transforms: Float[Tensor, "n 2 3"]) -> Float[Tensor, "n c h w"]:
    """Move every image by its own transform, with linear interpolation.

    A transform maps a place in the moved image to one in the original; places are in [−1, 1], x first. What comes into
    the picture from outside is its mirror image.
    """
    grid = functional.affine_grid(transforms.to(images), list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, mode="bilinear", padding_mode="reflection", align_corners=False)
