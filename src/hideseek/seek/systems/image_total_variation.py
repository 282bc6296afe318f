"""Total variation of images: how much neighbouring pixels differ, with its derivative in closed form."""

import torch
from jaxtyping import Float
from torch import Tensor

Images = Float[Tensor, "n c h w"]


def total_variation(images: Images, *, masked: bool = False) -> tuple[Float[Tensor, ""], Images]:
    """Give mean |∂x| + mean |∂y| and its derivative (Huang et al. 2021, Eq. 3).

    Under a mask of signs, `masked`, it is that of |x|, since neighbours are alike but for their signs.

    >>> total_variation(torch.tensor([[[[0.0, 2.0], [0.0, 2.0]]]]))[0]
    tensor(2.)
    """
    with torch.no_grad():
        pixels = images.abs() if masked else images
        derivative = torch.zeros_like(pixels)
        value = pixels.new_zeros(())
        for axis in (2, 3):
            steps = pixels.shape[axis] - 1
            if not steps:
                continue
            difference = pixels.diff(dim=axis)
            value = value + difference.abs().mean()
            signs = difference.sign_().div_(difference.numel())
            derivative.narrow(axis, 1, steps).add_(signs)
            derivative.narrow(axis, 0, steps).sub_(signs)
        return value, derivative * images.sign() if masked else derivative
