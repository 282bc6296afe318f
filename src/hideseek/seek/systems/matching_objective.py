"""What gradient matching makes small, and its derivative by images, labels and whatever else is learned."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.func import functional_call

from hideseek.seek.systems.batch_norm_aims import misfit
from hideseek.seek.systems.frozen_switches import FrozenSwitches, KeptSwitches
from hideseek.seek.systems.gradient_distance import Comparison
from hideseek.seek.systems.known_inputs import KnownInputs
from hideseek.seek.systems.matching_prior import Prior
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
    inputs: KnownInputs | None = None
    """What a layer is known to have taken in."""
    inputs_weight: float = 0.0
    difference: bool = False
    prior_weight: float = 1.0
    """What the prior is multiplied by now."""
    misfit: Callable[[Statistics, Statistics], Tensor] = misfit
    """How far statistics are from those that are aimed at."""
    _passes: "_Passes | None" = None

    def __call__(self, images: Tensor, logits: Tensor | None, labels: Tensor) -> Evaluated:
        """Evaluate for images, and labels or, where those are sought too, their logits."""
        penalty, slope = self.prior(images, masked=self.masked, weight=self.prior_weight)
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
        with self._watched(self.view.network) as seen, self._known(self.view.network) as taken:
            tensors = self.view.tensors(images, given)
            if self.aims and not isinstance(self.view, OneGradient):  # what batch norm saw at the start
                functional_call(self.view.network, dict(self.view.parameters), (images,))
            extra = self.misfit(seen, self.aims) if self.aims else None
        value, slopes, _ = self.comparison(tensors)
        pairs = [(each, slope) for each, slope in zip(tensors, slopes, strict=True) if each.requires_grad]
        total = distance = float(value)
        if extra is not None:
            pairs.append((extra, torch.full_like(extra, self.aims_weight)))
            total += self.aims_weight * float(extra.detach())
        if self.inputs is not None:
            extra = self.inputs.misfit(taken[0])
            pairs.append((extra, torch.full_like(extra, self.inputs_weight)))
            total += self.inputs_weight * float(extra.detach())
        found = torch.autograd.grad(
            [each for each, _ in pairs],
            sought,
            [slope for _, slope in pairs],
            allow_unused=True,
            materialize_grads=True,
        )
        return total, distance, list(found)

    def _by_difference(self, images: Tensor, labels: Tensor) -> tuple[float, float, list[Tensor]]:
        if self._passes is None:
            self._passes = _Passes.of(self.view)
        passes = self._passes
        with passes.watching() as kept, explained():
            loss = soft_cross_entropy(passes.network(images), labels)
        *tensors, here = torch.autograd.grad(loss, [*passes.weights, images], allow_unused=True, materialize_grads=True)
        value, slopes, length = self.comparison(tensors)
        step = STEP * passes.length / max(length, 1e-30)
        passes.move(slopes, step)
        with self._watched(passes.shifted) as seen, self._known(passes.shifted) as taken, passes.frozen(kept):
            loss = soft_cross_entropy(passes.shifted(images), labels)
        total = distance = float(value)
        if self.aims:
            extra = self.misfit(seen, self.aims)
            total += self.aims_weight * float(extra.detach())
            loss = loss + (step * self.aims_weight) * extra
        if self.inputs is not None:
            extra = self.inputs.misfit(taken[0])
            total += self.inputs_weight * float(extra.detach())
            loss = loss + (step * self.inputs_weight) * extra
        (there,) = torch.autograd.grad(loss, images)
        return total, distance, [(there - here) / step]

    def _known(self, network: nn.Module) -> AbstractContextManager[list[Tensor]]:
        """Watch the layer whose inputs are known."""
        return nullcontext([]) if self.inputs is None else self.inputs.watched(network)

    def _watched(self, network: nn.Module) -> AbstractContextManager[Statistics]:
        """Watch what batch norm sees, where that is aimed at."""
        return watched(network) if self.aims else nullcontext({})


@dataclass
class _Passes:
    """Two copies of a network: at θ, and to be moved to θ + εv."""

    network: nn.Module
    weights: list[Tensor]
    shifted: nn.Module
    places: list[Tensor]
    length: float
    smooth: bool = False
    """Whether the network makes no choices."""

    @classmethod
    def of(cls, view: UpdateView) -> "_Passes":
        """Copy the network of a view, at its weights."""
        network = deepcopy(view.network)
        network.load_state_dict({name: each.detach() for name, each in view.parameters.items()}, strict=False)
        shifted = deepcopy(network).requires_grad_(False)
        weights, places = (dict(each.named_parameters()) for each in (network, shifted))
        return cls(
            network, [weights[name] for name in view.parameters], shifted, [places[name] for name in view.parameters],
            _length(list(view.parameters.values())),
        )  # fmt: skip

    def watching(self) -> AbstractContextManager[KeptSwitches | None]:
        """Keep the choices of a pass; nothing where earlier ones made none, since watching takes time."""
        return nullcontext() if self.smooth else KeptSwitches()

    def frozen(self, kept: KeptSwitches | None) -> AbstractContextManager[object]:
        """Take these choices again."""
        self.smooth = kept is None or not kept.choices
        return nullcontext() if kept is None or self.smooth else FrozenSwitches(kept.choices)

    def move(self, slopes: Sequence[Tensor], step: float) -> None:
        """Move the second copy."""
        with torch.no_grad():
            torch._foreach_copy_(self.places, self.weights)
            torch._foreach_add_(self.places, list(slopes), alpha=step)


def _length(tensors: Sequence[Tensor]) -> float:
    """Give the length of all tensors together."""
    return float(torch.stack(torch._foreach_norm([each.detach() for each in tensors])).norm())
