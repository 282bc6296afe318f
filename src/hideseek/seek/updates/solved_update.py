"""What equations alone tell of an update: its images, or what a layer took in of each of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from jaxtyping import Float
from torch import Tensor, nn

from hideseek.device import device
from hideseek.seek.systems.gradient_distance import Squared
from hideseek.seek.systems.known_inputs import KnownInputs
from hideseek.seek.systems.layer_peeling import Peeled, peeled
from hideseek.seek.systems.matching_loop import Found
from hideseek.seek.systems.smooth_inversion import SmoothInversion
from hideseek.seek.systems.update_views import OneGradient
from hideseek.train.gradients import parameters_of

PEELED = 1e-2  # of a gradient's square: what a peeled image may miss
SOLVED = 0.1  # the same, of images that are solved for in part
CONJUGATE = 5  # steps of matching that a conjugate gradient of each of `smooth_inversion`'s steps is worth


@dataclass(frozen=True)
class SolvedUpdate:
    """An undefended gradient, as equations in what layers took in."""

    network: nn.Module
    gradient: Mapping[str, Tensor]
    labels: Float[Tensor, "n classes"]
    shape: tuple[int, int, int]
    limits: tuple[Tensor, Tensor] | None
    """Of pixels."""
    steps: int
    """Of conjugate gradients, for each layer that needs them."""

    @cached_property
    def layers(self) -> Peeled:
        """Solve layer by layer, from the end on."""
        return peeled(self.network, self.gradient, self.shape, self.labels, self.steps)

    @cached_property
    def inputs(self) -> KnownInputs | None:
        """Give what is known of the inputs of the layer nearest to the images."""
        if not self.layers.inputs:
            return None
        name, values = list(self.layers.inputs.items())[-1]
        return KnownInputs.of(self.network, name, values, self.layers.certain, self.shape)

    def images(self) -> Found | None:
        """Give the images, where the first layer is reached."""
        return self._fitting(self.layers.images, PEELED)

    def smooth_images(self, steps: int) -> Found | None:
        """Solve for images of which a layer's inputs are known, all of them, in a network without choices.

        It takes about as long as so many steps of gradient matching.
        """
        inputs = self.inputs
        if inputs is None or len(inputs.places) < len(self.labels):
            return None
        view = OneGradient(self.network, parameters_of(self.network))
        gradient = [self.gradient[name].to(device()) for name in view.parameters]
        known = SmoothInversion(view, inputs, gradient, self.labels.float(), self.shape)
        found = known.images(max(1, steps // CONJUGATE))
        if self.limits is not None:
            found = found.clamp(*(each.to(found) for each in self.limits))
        return self._fitting(found, SOLVED)

    def _fitting(self, images: Tensor | None, most: float) -> Found | None:
        """Keep images that have the gradient that was shared, but for a part."""
        if images is None or not bool(images.isfinite().all()):
            return None
        view = OneGradient(self.network, parameters_of(self.network))
        wanted = [self.gradient[name].to(device()) for name in view.parameters]
        found = view.tensors(images.float().to(device()), self.labels)
        distance = float(Squared().to(wanted)(found).value)
        return Found(images.float(), self.labels, distance, distance) if distance < most else None
