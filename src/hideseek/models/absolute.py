"""Networks that look at |x|: what they learn does not depend on a mask of signs."""

from torch import Tensor, nn

from hideseek.models.classifier import Classifier, Shape
from hideseek.models.small_resnet import small_resnet


class Absolute(nn.Module):
    """Take the absolute value of every pixel.

    InstaHide's mask is a coin flip for each pixel, so |σ ∘ x| = |x| holds all that an encoding tells (footnote 2): a
    network need not learn that signs mean nothing. The step helps an attacker too: every published attack on InstaHide
    begins with it.
    """

    def forward(self, images: Tensor) -> Tensor:
        """Give |x|."""
        return images.abs()


def small_resnet_absolute(shape: Shape, classes: int) -> Classifier:
    """Build the small ResNet on absolute values, for what was hidden under a mask of signs."""
    network = small_resnet(shape, classes)
    return Classifier(nn.Sequential(Absolute(), network.features), network.head)
