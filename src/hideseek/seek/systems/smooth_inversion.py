"""Images from what a smooth network took in and sent: steps of Gauss and Newton among the frequencies of photographs.

With x = S u, where S makes images of frequencies u times the deviations that photographs have there, ½ ‖u‖² is how
unlikely an image is. Sought is min over u of ‖r(S u)‖² + λ ‖u‖²; r is what is missed of the inputs of a layer, known
for each image (`known_inputs`), and then of the gradient too. Every step makes r linear, and solves by conjugate
gradients, each of which takes a product with the Jacobian and one with its transpose. Where r is smooth, some dozens
of these do what hundreds of steps along signs of slopes do not: what equations leave open stays as it is likeliest.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.seek.signals.whitening import Whitening
from hideseek.seek.systems.conjugate_gradients import descended
from hideseek.seek.systems.image_spectrum import ImageSpectrum
from hideseek.seek.systems.known_inputs import KnownInputs
from hideseek.seek.systems.update_views import OneGradient

RIDGE = 1e-5  # λ, of the largest curvature that the first direction shows
STEEPER = 1.5  # deviations fall as 1/f to this power, chosen on the attacker's side: what is not told stays smooth
FIRST = (5, 15)  # steps, and conjugate gradients of each, by inputs alone
LINEAR = 3  # steps by inputs and gradients
TINY = 1e-30
Spectra = Float[Tensor, "n c h w"]
Missed = Callable[[Float[Tensor, "n c h w"]], Float[Tensor, " equations"]]


@dataclass(frozen=True)
class SmoothInversion:
    """What is known of a batch: inputs of a layer for each of its images, its gradient and its labels."""

    view: OneGradient
    inputs: KnownInputs
    gradient: Sequence[Tensor]
    """Of the parameters of the view, in their order."""
    labels: Float[Tensor, "n classes"]
    shape: tuple[int, int, int]

    def images(self, conjugate: int) -> Float[Tensor, "n c h w"]:
        """Solve, with so many conjugate gradients in each step by the gradient."""
        waves = photographs(self.shape).to(self.labels)
        found = self.labels.new_zeros(len(self.labels), *self.shape)
        steps, inner = FIRST
        for _ in range(steps):
            found = found + _step(self._missed_inputs, found, waves, inner)
        for _ in range(LINEAR):
            found = found + _step(self._missed, found, waves, conjugate)
        return waves.images(found)

    def _missed_inputs(self, images: Tensor) -> Tensor:
        """Give what is missed of the known inputs, each image's divided by what a grey one misses."""
        with self.inputs.watched(self.view.network) as seen:
            self.view.network(images)
        return self._scaled(seen[0])

    def _missed(self, images: Tensor) -> Tensor:
        """Give what is missed of inputs, and of the gradient's tensors, each divided by its length."""
        with self.inputs.watched(self.view.network) as seen:
            found = self.view.tensors(images, self.labels)
        pairs = zip(found, self.gradient, strict=True)
        parts = [(each - wanted).flatten() / wanted.norm().clamp_min(TINY) for each, wanted in pairs]
        return torch.cat([self._scaled(seen[0]) / len(images) ** 0.5, *parts])

    def _scaled(self, seen: Tensor) -> Tensor:
        apart = (seen[self.inputs.places] - self.inputs.values).flatten(1)
        return (apart * self.inputs.scales[:, None]).flatten()


@dataclass(frozen=True)
class Waves:
    """Frequencies times the deviations that images have in them."""

    basis: Whitening

    def images(self, spectra: Spectra) -> Float[Tensor, "n c h w"]:
        """Give S u."""
        return self.basis.images(spectra * self.basis.deviations)

    def transposed(self, images: Float[Tensor, "n c h w"]) -> Spectra:
        """Give S' x."""
        return self.basis.spectrum(images) * self.basis.deviations

    def to(self, some: Tensor) -> "Waves":
        """Move to the device and precision of a tensor."""
        old = self.basis
        return Waves(Whitening(*(each.to(some) for each in (old.colours, old.deviations, old.rows, old.columns))))


def photographs(shape: tuple[int, int, int]) -> Waves:
    """Give the waves of photographs in general, but for a factor."""
    basis = ImageSpectrum.usual(shape, 1.0).basis
    return Waves(replace(basis, deviations=basis.deviations**STEEPER))


def _step(missed: Missed, at: Spectra, waves: Waves, conjugate: int) -> Spectra:
    """Give d that makes ‖r + J S d‖² + λ ‖u + d‖² small."""
    images = waves.images(at).requires_grad_()
    rest = missed(images)
    weights = torch.zeros_like(rest, requires_grad=True)
    (back,) = torch.autograd.grad(rest, images, weights, create_graph=True)  # J' w, whose derivative by w is J

    def transposed(some: Tensor) -> Spectra:
        return waves.transposed(torch.autograd.grad(rest, images, some, retain_graph=True)[0])

    def curved(direction: Spectra) -> Spectra:
        return transposed(torch.autograd.grad(back, weights, waves.images(direction), retain_graph=True)[0])

    down = -transposed(rest.detach())
    ridge = RIDGE * float((down * curved(down)).sum() / down.square().sum().clamp_min(TINY))

    def product(column: Float[Tensor, "unknowns 1"]) -> Float[Tensor, "unknowns 1"]:
        return curved(column.view_as(at)).reshape(-1, 1) + ridge * column

    left = (down - ridge * at).reshape(-1, 1)
    found = descended(product, torch.ones_like(left), left, torch.zeros_like(left), conjugate)
    return found.view_as(at)
