"""One update, inverted: what the attacker computes again, and what he compares it by."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.device import device
from hideseek.records.update_release import UpdateRelease
from hideseek.seek.systems.batch_norm_aims import MISFITS
from hideseek.seek.systems.frozen_switches import KeptSwitches
from hideseek.seek.systems.gradient_distance import Cosine, Squared
from hideseek.seek.systems.head_labels import HeadReader, recovered_labels
from hideseek.seek.systems.image_starts import pixel_limits
from hideseek.seek.systems.known_inputs import KnownInputs
from hideseek.seek.systems.known_statistics import fix, known_statistics
from hideseek.seek.systems.layer_peeling import Peeled, peeled
from hideseek.seek.systems.matching_loop import Found, Lbfgs, Optimiser, Sought
from hideseek.seek.systems.matching_objective import Objective
from hideseek.seek.systems.own_images import FEWEST, ImageBasis
from hideseek.seek.systems.sharpened import sharpened
from hideseek.seek.systems.smooth_inversion import SmoothInversion
from hideseek.seek.systems.update_labels import counted_labels, estimated_size
from hideseek.seek.systems.update_views import OneGradient, SimulatedSteps, SurrogateGradient, UpdateView
from hideseek.seek.updates.update_comparison import comparison_with
from hideseek.train.batch_statistics import Statistics
from hideseek.train.gradients import parameters_of

if TYPE_CHECKING:
    from hideseek.seek.updates.gradient_matching import GradientMatching

PEELED = 1e-2  # of a gradient's square: what a peeled image may miss
SOLVED = 0.1  # the same, of images that are solved for in part
CONJUGATE = 5  # steps of matching that a conjugate gradient of each of `smooth_inversion`'s steps is worth
Limits = tuple[Tensor, Tensor] | None


class Shared:
    """What is computed once for all updates of a release."""

    def __init__(self, release: UpdateRelease, basis: ImageBasis | None = None) -> None:
        self.basis, self.heads = basis, HeadReader(release)
        self.proxies: dict[int, Statistics] = {}


class Matcher:
    """Inverts one update."""

    def __init__(
        self, attack: GradientMatching, release: UpdateRelease, number: int, shared: Shared | None = None
    ) -> None:
        self.attack, self.release, self.number = attack, release, number
        self.shared = shared or Shared(release)
        scheme = release.scheme
        self.network = release.model(number).network().to(device()).train(scheme.mode == "train")
        self.masked = scheme.encoding is not None and scheme.encoding.masked
        self.size = self._size()
        update = release.updates[number]
        self.gradient = {  # one step of the client is a gradient but for its rate
            name: tensor / scheme.work.rate if scheme.sends == "weights" and scheme.work.one_gradient else tensor
            for name, tensor in update.items()
        }

    def match(self, chance: Randomness) -> Found:
        """Give the images."""
        layers = self._layers()
        if layers is not None and (at_once := self._fitting(layers.images, PEELED)) is not None:
            return at_once
        if self.attack.smooth is not None and self._is_smooth():
            if (at_once := self._fitting(self._smoothly(layers), SOLVED)) is not None:
                return at_once
            self.attack = replace(
                self.attack,
                distance=replace(self.attack.distance, balance=0.0),
                prior=self.attack.smooth,
                optimiser=replace(self.attack.optimiser, relax=1.0),
            )
        self.attack = self.attack.for_mode(self.network, self.release.scheme.mode)
        double = isinstance(self.attack.optimiser, Lbfgs)
        if double:
            self.network.double()
        inputs = self._inputs(layers)
        aims = known_statistics(
            self.release, self.number, self.network, self.attack.statistics, self.size, self.shared.proxies
        )
        if self.attack.forward == "known" and aims:
            fix(self.network, aims)
        kind = torch.float64 if double else torch.float32
        descended = []
        for view in self._views():
            gradient = {name: self.gradient[name] for name in view.parameters}
            sent = [each.to(device(), kind) for each in gradient.values()]
            comparison = comparison_with(
                gradient, self.release.scheme, self.attack.distance, self.attack.compares, sent
            )
            objective = Objective(
                view, comparison, self.attack.prior, self.masked, aims, self.attack.statistics_weight if aims else 0.0,
                inputs, self.attack.inputs_weight, difference=not double, misfit=MISFITS[self.attack.aim],
            )  # fmt: skip
            descended.append(self._descended(objective, self.attack.optimiser, chance, kind))
        return min(descended, key=lambda each: each.value)

    def _descended(self, objective: Objective, optimiser: Optimiser, chance: Randomness, kind: torch.dtype) -> Found:
        attack, release = self.attack, self.release
        limits = pixel_limits(release.normalisation, release.shape, masked=self.masked)
        limits = None if limits is None else (limits[0].to(device(), kind), limits[1].to(device(), kind))
        if self.shared.basis is not None:
            return self._among_own(self.shared.basis, objective, chance, kind, limits)
        images = attack.start.images(attack.restarts, self.size, release.shape, limits, chance).to(device(), kind)
        if limits is not None:
            images = images.clamp(*limits)
        logits = None
        if attack.labels == "joint":
            logits = chance.normals(attack.restarts, self.size, release.classes).to(device(), kind)
        sought = Sought(images, self._labels().to(device(), kind), logits, limits, attack.consistency)
        if (enlarge := attack.start.enlarge(release.shape)) is not None:
            sought.enlarge = enlarge
            if attack.start.stays:
                return self._sharpened(optimiser.descend(objective, sought))
            coarse = optimiser.lowered(max(1, optimiser.steps // 2)).descend(objective, sought)
            sought.images, sought.enlarge = coarse.images[None].repeat(attack.restarts, 1, 1, 1, 1), None
        return optimiser.descend(objective, sought)

    def _sharpened(self, found: Found) -> Found:
        own = self.release.own
        if own is None or own.shape != self.release.shape or len(own) < FEWEST:
            return found
        return replace(found, images=sharpened(found.images, own, self.attack.start.coarse))

    def _among_own(
        self, basis: ImageBasis, objective: Objective, chance: Randomness, kind: torch.dtype, limits: Limits
    ) -> Found:
        """Descend among images that are like the attacker's own, from the mean of all, and from images drawn."""
        attack, sent = self.attack, torch.cat([each.flatten() for each in self.gradient.values()])
        allowed = self.release.scheme.allowed(self.gradient)
        drawn = chance.normals(attack.restarts, self.size, len(basis.axes)).to(device(), kind)
        drawn[0] = 0.0
        assert attack.own is not None  # noqa: S101 (the basis is of it)
        scaled = isinstance(objective.comparison.distance, Cosine)
        weight = attack.own.weight_under(allowed.noise, sent, scaled=scaled)
        labels = self._labels().to(device(), kind)
        sought = Sought(drawn, labels, consistency=attack.consistency, enlarge=basis.images, squares=weight)
        found = attack.optimiser.descend(objective, sought)
        return found if limits is None else replace(found, images=found.images.clamp(*limits))

    def _size(self) -> int:
        release = self.release
        if release.sizes is not None:
            return release.sizes[self.number]
        if not release.scheme.work.one_gradient:
            return release.scheme.work.images
        return estimated_size(self.network, release.updates[self.number], release.classes)

    def _labels(self) -> Tensor:
        if self.attack.labels == "known" and self.release.labels is not None:
            return self.release.labels[self.number]
        found = recovered_labels(self.release, self.number, self.shared.heads)
        if found is not None and len(found) == self.size:
            return found.float()
        return counted_labels(self.network, self.gradient, self.size, self.release.classes)

    def _views(self) -> list[UpdateView]:
        """Give the ways to compute the update again that are tried."""
        parameters, scheme = parameters_of(self.network), self.release.scheme
        work, local = scheme.work, self.attack.local
        if scheme.sends == "gradient" or work.one_gradient or local == "one gradient":
            return [OneGradient(self.network, parameters)]
        update = {name: self.gradient[name].to(each) for name, each in parameters.items()}
        surrogate = SurrogateGradient.between(self.network, parameters, update)
        simulated = SimulatedSteps(self.network, parameters, work)
        if local != "chosen":
            return [surrogate if local == "surrogate" else simulated]
        if work.epochs * -(-self.size // work.batch) > self.attack.simulate:
            return [OneGradient(self.network, parameters), surrogate]
        return [simulated] if work.epochs == 1 else [simulated, surrogate]  # several epochs may be shuffled

    def _is_smooth(self) -> bool:
        """Tell whether the network makes no choices."""
        some = next(self.network.parameters())
        with torch.no_grad(), KeptSwitches() as kept:
            self.network.eval()(torch.zeros(1, *self.release.shape).to(some))
        self.network.train(self.release.scheme.mode == "train")
        return not kept.choices

    def _layers(self) -> Peeled | None:
        """Solve layer by layer; linear systems are exact, or they run on and end in nothing."""
        scheme = self.release.scheme
        if not self.attack.peel or not scheme.work.one_gradient or scheme.defences:
            return None
        return peeled(self.network, self.gradient, self.release.shape, self._labels(), self.attack.peel)

    def _smoothly(self, layers: Peeled | None) -> Tensor | None:
        """Solve for images of which a layer's inputs are known, all of them, in a network without choices."""
        inputs = self._inputs(layers)
        if inputs is None or len(inputs.places) < self.size or self.masked or self.shared.basis is not None:
            return None
        view = OneGradient(self.network, parameters_of(self.network))
        gradient = [self.gradient[name].to(device()) for name in view.parameters]
        known = SmoothInversion(view, inputs, gradient, self._labels().float().to(device()), self.release.shape)
        found = known.images(max(1, self.attack.optimiser.steps // CONJUGATE))
        limits = pixel_limits(self.release.normalisation, self.release.shape)
        return found if limits is None else found.clamp(*(each.to(found) for each in limits))

    def _fitting(self, image: Tensor | None, most: float) -> Found | None:
        """Keep images that have the gradient that was shared, but for a part."""
        if image is None or not bool(image.isfinite().all()):
            return None
        view, labels = OneGradient(self.network, parameters_of(self.network)), self._labels().to(device())
        wanted = [self.gradient[name].to(device()) for name in view.parameters]
        found = view.tensors(image.float().to(device()), labels)
        distance = float(Squared().to(wanted)(found).value)
        return Found(image.float(), labels, distance, distance) if distance < most else None

    def _inputs(self, layers: Peeled | None) -> KnownInputs | None:
        """Give what is known of the inputs of the layer nearest to the images."""
        if layers is None or not layers.inputs or not self.attack.inputs_weight:
            return None
        name, values = list(layers.inputs.items())[-1]
        return KnownInputs.of(self.network, name, values, layers.certain, self.release.shape)
