"""What every classification network is: features, and a head that judges them."""

import math

from jaxtyping import Float
from torch import Tensor, nn

Shape = tuple[int, int, int]  # channels, height and width of an image


class Classifier(nn.Module):
    """Classify images: logits = head(features(x)), so that `features` is an extractor, and alone can be replaced.

    `features` ends in one row for each image, n×f.
    """

    def __init__(self, features: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.features = features
        self.head = head

    def forward(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n classes"]:
        """Give the logits of each class."""
        logits: Tensor = self.head(self.features(images))
        return logits


def initialise(network: nn.Module) -> None:
    """Draw the weights of every convolution from N(0, 2 / n), in place (He et al. 2015, Eq. 14).

    n is how many of its outputs an input reaches: kernel² · output channels, of its group.
    Deviation: dense layers keep PyTorch's initialisation, since the equation is for layers between ReLUs.
    """
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            # PyTorch's own fan-out forgets the groups, and would make depthwise weights far too small.
            reached = math.prod(module.kernel_size) * module.out_channels // module.groups
            nn.init.normal_(module.weight, std=math.sqrt(2 / reached))
            if module.bias is not None:
                nn.init.zeros_(module.bias)
