"""The U-Net that Singularized Mixup's nonlinear attack trains."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hideseek.models.classifier import initialise

_LEVELS = 3


class UNet(nn.Module):
    """Map images to images of the same shape (Singularized Mixup, Appendix F; the form is Ronneberger et al. 2015).

    Double convolutions of B, 2B, 4B and 8B channels with 2×2 max-pooling between them; then, three times, a transposed
    convolution doubles the size, the encoder's maps of that size are put beside it, and a double convolution follows,
    of 4B, 2B and B channels; a 1×1 convolution ends it. ReLUs throughout.
    Deviation: the appendix names a DoubleConv and no more. Here it is twice a 3×3 convolution with padding and ReLU,
    without BatchNorm, which it does not mention. Sides that are not multiples of 8 are continued by their last
    pixels, and what comes out is cut. The output is not clamped: the caller knows the range of the images.
    """

    def __init__(self, channels: int, width: int = 48) -> None:
        super().__init__()
        widths = [width << level for level in range(_LEVELS + 1)]
        inputs = [channels, *widths[:-1]]
        self.down = nn.ModuleList([_double(*pair) for pair in zip(inputs, widths, strict=True)])
        self.enlarge = nn.ModuleList([nn.ConvTranspose2d(2 * wide, wide, 2, 2) for wide in widths[:-1]])
        self.up = nn.ModuleList([_double(2 * wide, wide) for wide in widths[:-1]])
        self.last = nn.Conv2d(width, channels, 1)
        initialise(self)

    def forward(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
        """Give images."""
        height, width = images.shape[2:]
        missing = (0, -width % (1 << _LEVELS), 0, -height % (1 << _LEVELS))
        maps: Tensor = self.down[0](nn.functional.pad(images, missing, mode="replicate"))
        beside = []
        for down in self.down[1:]:
            beside.append(maps)
            maps = down(nn.functional.max_pool2d(maps, 2))
        for level in reversed(range(_LEVELS)):
            maps = self.up[level](torch.cat([beside[level], self.enlarge[level](maps)], 1))
        out: Tensor = self.last(maps)
        return out[:, :, :height, :width]


def _double(inputs: int, outputs: int) -> nn.Sequential:
    """Convolve twice."""
    first, second = nn.Conv2d(inputs, outputs, 3, padding=1), nn.Conv2d(outputs, outputs, 3, padding=1)
    return nn.Sequential(first, nn.ReLU(), second, nn.ReLU())
