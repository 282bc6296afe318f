"""What gradient matching makes small, and its derivative by images, labels and whatever else is learned."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.func import functional_call

from hideseek.seek.systems.batch_norm_aims import misfit
from hideseek.seek.systems.frozen_switches import FrozenSwitches, KeptSwitches
from hideseek.seek.systems.gradient_distance import Comparison
from hideseek.seek.systems.image_total_variation import total_variation
from hideseek.seek.systems.update_views import OneGradient, UpdateView
from hideseek.train.batch_statistics import Statistics, watched
from hideseek.train.gradients import explained, soft_cross_entropy

STEP = 1e-4  # of a difference of weights, in lengths of the weights


@dataclass(frozen=True)
class Evaluated:
    """The objective, how far gradients are in it, and derivatives by what is sought."""

    value: float
    distance: float
    derivatives: list[Tensor]


@dataclass(frozen=True)
class Prior:
    """What an attacker expects of images: smooth ones, and not large ones."""

    total_variation: float = 0.0
    """The weight of mean |∂x| + mean |∂y|."""
    squares: float = 0.0
    """The weight of the mean of x²."""

    def __call__(self, images: Tensor, *, masked: bool) -> tuple[float, Tensor | None]:
        """Give the penalty, and its derivative by the images."""
        value, derivative = 0.0, None
        if self.total_variation:
            found, by_images = total_variation(images.detach(), masked=masked)
            value, derivative = self.total_variation * float(found), by_images * self.total_variation
        if self.squares:
            pixels = images.detach()
            value += self.squares * float(pixels.square().mean())
            slope = pixels * (2 * self.squares / pixels.numel())
            derivative = slope if derivative is None else derivative + slope
        return value, derivative


@dataclass
class Objective:
    """D(g(x, y), ĝ) + prior(x) + α_BN Σ(‖μ − μ̂‖ + ‖σ² − σ̂²‖) (Huang et al. 2021, Eq. 3).

    The derivative of D by the images is Jᵀv, where v = ∂D/∂g is known in closed form. By double backward it costs four
    convolutions a layer beside the three of a gradient. `difference` takes it from one more pass instead, at θ + εv:
    Jᵀv = (∇ₓL(θ + εv) − ∇ₓL(θ)) / ε, two convolutions a layer; ReLUs and poolings keep the choices that they made at θ,
    without which the difference would measure where they change. Other terms ride on the second pass.
    """

    view: UpdateView
    comparison: Comparison
    prior: Prior
    masked: bool = False
    aims: Statistics = field(default_factory=dict)
    aims_weight: float = 0.0
    difference: bool = False
    _shifted: nn.Module | None = None

    def __call__(self, images: Tensor, logits: Tensor | None, labels: Tensor) -> Evaluated:
        """Evaluate for images, and labels or, where those are sought too, their logits."""
        penalty, slope = self.prior(images, masked=self.masked)
        if self.difference and logits is None and isinstance(self.view, OneGradient):
            value, distance, found = self._by_difference(images, labels)
        else:
            value, distance, found = self._by_graph(images, logits, labels)
        if slope is not None:
            found[0] = found[0] + slope
        return Evaluated(value + penalty, distance, found)

    def _by_graph(self, images: Tensor, logits: Tensor | None, labels: Tensor) -> tuple[float, float, list[Tensor]]:
        sought: list[Tensor] = [images, *([] if logits is None else [logits]), *self.view.learned()]
        given = labels if logits is None else logits.softmax(1)
        with watched(self.view.network) as seen:
            tensors = self.view.tensors(images, given)
            if self.aims and not isinstance(self.view, OneGradient):  # what batch norm saw at the start
                functional_call(self.view.network, dict(self.view.parameters), (images,))
            extra = misfit(seen, self.aims) if self.aims else None
        value, slopes = self.comparison(tensors)
        pairs = [(each, slope) for each, slope in zip(tensors, slopes, strict=True) if each.requires_grad]
        total = distance = float(value)
        if extra is not None:
            pairs.append((extra, torch.full_like(extra, self.aims_weight)))
            total += self.aims_weight * float(extra.detach())
        found = torch.autograd.grad(
            [each for each, _ in pairs],
            sought,
            [slope for _, slope in pairs],
            allow_unused=True,
            materialize_grads=True,
        )
        return total, distance, list(found)

    def _by_difference(self, images: Tensor, labels: Tensor) -> tuple[float, float, list[Tensor]]:
        parameters = list(self.view.parameters.values())
        with KeptSwitches() as kept, explained():
            loss = soft_cross_entropy(functional_call(self.view.network, dict(self.view.parameters), (images,)), labels)
        *tensors, here = torch.autograd.grad(loss, [*parameters, images], allow_unused=True, materialize_grads=True)
        value, slopes = self.comparison(tensors)
        step = STEP * _length(parameters) / max(_length(slopes), 1e-30)
        shifted = self._moved(parameters, slopes, step)
        with watched(shifted) as seen, FrozenSwitches(kept.choices):
            loss = soft_cross_entropy(shifted(images), labels)
        total = distance = float(value)
        if self.aims:
            extra = misfit(seen, self.aims)
            total += self.aims_weight * float(extra.detach())
            loss = loss + (step * self.aims_weight) * extra
        (there,) = torch.autograd.grad(loss, images)
        return total, distance, [(there - here) / step]

    def _moved(self, parameters: Sequence[Tensor], slopes: Sequence[Tensor], step: float) -> nn.Module:
        """Give a copy of the network at θ + εv, the same one every time."""
        if self._shifted is None:
            self._shifted = deepcopy(self.view.network).requires_grad_(False)
        named = dict(self._shifted.named_parameters())
        places: list[Tensor] = [named[name] for name in self.view.parameters]
        with torch.no_grad():
            torch._foreach_copy_(places, [each.detach() for each in parameters])
            torch._foreach_add_(places, list(slopes), alpha=step)
        return self._shifted


def _length(tensors: Sequence[Tensor]) -> float:
    """Give the length of all tensors together."""
    return float(torch.stack(torch._foreach_norm([each.detach() for each in tensors])).norm())
