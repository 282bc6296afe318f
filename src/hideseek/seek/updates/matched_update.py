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
from hideseek.seek.systems.gradient_distance import Cosine
from hideseek.seek.systems.head_labels import HeadReader, recovered_labels
from hideseek.seek.systems.image_starts import pixel_limits
from hideseek.seek.systems.known_statistics import fix, known_statistics
from hideseek.seek.systems.matching_loop import Found, Lbfgs, Optimiser, Sought
from hideseek.seek.systems.matching_objective import Objective
from hideseek.seek.systems.own_images import FEWEST, ImageBasis
from hideseek.seek.systems.sharpened import sharpened
from hideseek.seek.systems.update_labels import counted_labels
from hideseek.seek.systems.update_views import OneGradient, SimulatedSteps, SurrogateGradient, UpdateView
from hideseek.seek.updates.solved_update import SolvedUpdate
from hideseek.seek.updates.update_comparison import comparison_with
from hideseek.train.batch_statistics import Statistics
from hideseek.train.gradients import parameters_of

if TYPE_CHECKING:
    from hideseek.seek.updates.gradient_matching import GradientMatching

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
        self.size = self.shared.heads.size(number).count
        update = release.updates[number]
        self.gradient = {  # one step of the client is a gradient but for its rate
            name: tensor / scheme.work.rate if scheme.sends == "weights" and scheme.work.one_gradient else tensor
            for name, tensor in update.items()
        }

    def match(self, chance: Randomness) -> Found:
        """Give the images."""
        solved = self._solved()
        if solved is not None and (at_once := solved.images()) is not None:
            return at_once
        if self.attack.smooth is not None and self._is_smooth():
            alone = not self.masked and self.shared.basis is None  # nothing else is expected of images
            if alone and solved is not None and (at_once := solved.smooth_images(self.attack.optimiser.steps)):
                return at_once
            self.attack = replace(
                self.attack,
                distance=replace(self.attack.distance, balance=0.0),
                prior=self.attack.smooth,
                optimiser=replace(self.attack.optimiser, relax=1.0),
            )
        self.attack = self.attack.for_batch(self.network, self.release.scheme.mode, self.size)
        double = isinstance(self.attack.optimiser, Lbfgs)
        if double:
            self.network.double()
        inputs = None if solved is None or not self.attack.inputs_weight else solved.inputs
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
        work, local = scheme.work.for_images(self.size), self.attack.local
        if scheme.sends == "gradient" or work.one_gradient or local == "one gradient":
            return [OneGradient(self.network, parameters)]
        update = {name: self.gradient[name].to(each) for name, each in parameters.items()}
        surrogate = SurrogateGradient.between(self.network, parameters, update)
        simulated = SimulatedSteps(self.network, parameters, work)
        if scheme.scaled:  # steps of an unknown length, or number, cannot be taken again
            return [surrogate] if local == "surrogate" else [OneGradient(self.network, parameters), surrogate]
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

    def _solved(self) -> SolvedUpdate | None:
        """Ask what equations tell; linear systems are exact, or they run on and end in nothing."""
        scheme, release = self.release.scheme, self.release
        if not self.attack.peel or not scheme.work.one_gradient or scheme.defences or scheme.scaled:
            return None
        labels, limits = self._labels().to(device()), pixel_limits(release.normalisation, release.shape)
        return SolvedUpdate(self.network, self.gradient, labels, release.shape, limits, self.attack.peel)
