"""One update, inverted: what the attacker computes again, and what he compares it by."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.device import device
from hideseek.records.update_release import UpdateRelease
from hideseek.seek.systems.batch_norm_aims import derived, proxy
from hideseek.seek.systems.frozen_switches import KeptSwitches
from hideseek.seek.systems.gradient_distance import Squared
from hideseek.seek.systems.head_labels import recovered_labels
from hideseek.seek.systems.image_starts import pixel_limits
from hideseek.seek.systems.layer_peeling import peeled
from hideseek.seek.systems.matching_loop import Found, Lbfgs, Optimiser, Sought
from hideseek.seek.systems.matching_objective import Objective
from hideseek.seek.systems.update_labels import counted_labels, estimated_size
from hideseek.seek.systems.update_views import OneGradient, SimulatedSteps, SurrogateGradient, UpdateView
from hideseek.train.batch_statistics import Statistics, batch_norms
from hideseek.train.gradients import parameters_of

if TYPE_CHECKING:
    from hideseek.seek.updates.gradient_matching import GradientMatching

PRUNING = "gradient-pruning"
PEELED = 1e-2  # of a gradient's square: what a peeled image may miss
OWN = 256  # images that proxy statistics are taken from


class Matcher:
    """Inverts one update."""

    def __init__(self, attack: GradientMatching, release: UpdateRelease, number: int) -> None:
        self.attack, self.release, self.number = attack, release, number
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
        if (found := self._peeled()) is not None:
            return found
        if self.attack.smooth is not None and self._is_smooth():
            self.attack = replace(
                self.attack,
                distance=replace(self.attack.distance, balance=0.0),
                prior=self.attack.smooth,
                optimiser=replace(self.attack.optimiser, relax=1.0),
            )
        double = isinstance(self.attack.optimiser, Lbfgs)
        if double:
            self.network.double()
        view = self._view()
        wanted = [self.gradient[name].to(device()) for name in view.parameters]
        wanted = [each.double() for each in wanted] if double else wanted
        pruned = any(defence.mechanism == PRUNING for defence in self.release.scheme.defences)
        comparison = self.attack.distance.to(wanted, [each != 0 for each in wanted] if pruned else None)
        aims = self._aims()
        objective = Objective(
            view, comparison, self.attack.prior, self.masked, aims, self.attack.statistics_weight if aims else 0.0,
            difference=not double,
        )  # fmt: skip
        return self._descended(objective, self.attack.optimiser, chance, torch.float64 if double else torch.float32)

    def _descended(self, objective: Objective, optimiser: Optimiser, chance: Randomness, kind: torch.dtype) -> Found:
        attack, release = self.attack, self.release
        limits = pixel_limits(release.normalisation, release.shape, masked=self.masked)
        limits = None if limits is None else (limits[0].to(device(), kind), limits[1].to(device(), kind))
        images = attack.start.images(attack.restarts, self.size, release.shape, limits, chance).to(device(), kind)
        if limits is not None:
            images = images.clamp(*limits)
        logits = None
        if attack.labels == "joint":
            logits = chance.normals(attack.restarts, self.size, release.classes).to(device(), kind)
        sought = Sought(images, self._labels().to(device(), kind), logits, limits, attack.consistency)
        if (enlarge := attack.start.enlarge(release.shape)) is not None:
            sought.enlarge = enlarge
            coarse = optimiser.lowered(max(1, optimiser.steps // 2)).descend(objective, sought)
            sought.images, sought.enlarge = coarse.images[None].repeat(attack.restarts, 1, 1, 1, 1), None
        return optimiser.descend(objective, sought)

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
        found = recovered_labels(self.release, self.number)
        if found is not None and len(found) == self.size:
            return found.float()
        return counted_labels(self.network, self.gradient, self.size, self.release.classes)

    def _view(self) -> UpdateView:
        parameters, work = parameters_of(self.network), self.release.scheme.work
        if self.release.scheme.sends == "gradient" or work.one_gradient:
            return OneGradient(self.network, parameters)
        if work.epochs * -(-self.size // work.batch) <= self.attack.simulate:
            return SimulatedSteps(self.network, parameters, work)
        update = {name: self.gradient[name].to(each) for name, each in parameters.items()}
        return SurrogateGradient.between(self.network, parameters, update)

    def _aims(self) -> Statistics:
        """Give what batch norm is thought to have seen."""
        how, release = self.attack.statistics, self.release
        if how == "none" or not batch_norms(self.network):
            return {}
        found: Statistics = {}
        if how == "exact" and release.statistics is not None:
            found = release.statistics[self.number]
        elif how == "running" and release.buffers is not None and release.scheme.mode == "train":
            work = release.scheme.work
            before, after = release.model(self.number).state, release.buffers[self.number]
            found = derived(self.network, before, after, work.epochs * -(-self.size // work.batch), work.batch)
        elif how == "own" and release.own is not None:
            some = next(self.network.parameters())
            found = proxy(self.network, release.own.pixels(slice(0, OWN)).to(some))
        some = next(self.network.parameters())
        return {name: (mean.to(some), variance.to(some)) for name, (mean, variance) in found.items()}

    def _is_smooth(self) -> bool:
        """Tell whether the network makes no choices."""
        some = next(self.network.parameters())
        with torch.no_grad(), KeptSwitches() as kept:
            self.network.eval()(torch.zeros(1, *self.release.shape).to(some))
        self.network.train(self.release.scheme.mode == "train")
        return not kept.choices

    def _peeled(self) -> Found | None:
        """Solve layer by layer, and keep what has the gradient that was shared."""
        scheme = self.release.scheme
        if not self.attack.peel or self.size != 1 or not scheme.work.one_gradient or scheme.defences:
            return None  # linear systems are exact, or they run on and end in nothing
        image = peeled(self.network, self.gradient, self.release.shape, self.attack.peel)
        if image is None:
            return None
        view, labels = OneGradient(self.network, parameters_of(self.network)), self._labels().to(device())
        wanted = [self.gradient[name].to(device()) for name in view.parameters]
        found = view.tensors(image.float().to(device()), labels)
        distance = float(Squared().to(wanted)(found).value)
        return Found(image.float(), labels, distance, distance) if distance < PEELED else None
