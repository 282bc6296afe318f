"""Gradient matching: images whose gradients are those that were shared; papers on it are values of one mechanism."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Self, TypeVar

import torch

from hideseek.chance import Randomness
from hideseek.progress import track
from hideseek.records import Attack, Evidence, Reason, Reconstruction, Refusal, Task
from hideseek.records.update_release import UpdateRelease
from hideseek.seek.systems.gradient_distance import Cosine, Squared
from hideseek.seek.systems.image_starts import Start
from hideseek.seek.systems.matching_loop import Adam, Lbfgs
from hideseek.seek.systems.matching_prior import Prior
from hideseek.seek.updates.matched_update import Matcher
from hideseek.seek.work import attacked, largest

WORK_OF_A_PIXEL = 30_000  # multiplications of one step, for each pixel of a batch: a small network, forward and back
LEAST_STEPS, LEAST_UPDATES = 60, 8

A = TypeVar("A", bound="GradientMatching")


@dataclass(frozen=True)
class GradientMatching(Attack[UpdateRelease]):
    """Seek images whose gradients are those that were shared.

    x̂ = argmin D(g(x, y), ĝ) + α_TV TV(x) + α_BN Σ_layers (‖μ − μ̂‖ + ‖σ² − σ̂²‖) (Huang et al. 2021, Eq. 3), from
    several starts, of which the one with the least objective counts. Where a network is a chain without poolings and
    the update is of one image, linear systems give it at once (`layer_peeling`), and matching is left out.
    Updates of several local steps are simulated, or stood for by a gradient between the two states.
    Deviation: a pruned update is compared by the entries that were sent alone.
    """

    sees: ClassVar[type[UpdateRelease]] = UpdateRelease
    source: ClassVar[str] = "Zhu et al. 2019, Geiping et al. 2020, Huang et al. 2021; balanced tensors are ours"

    distance: Cosine | Squared = field(default_factory=lambda: Cosine(balance=0.5))
    """How gradients are compared."""
    prior: Prior = field(default_factory=lambda: Prior(total_variation=3e-2))
    """What is expected of images."""
    optimiser: Adam | Lbfgs = field(default_factory=lambda: Adam(600, rate=0.3, relax=0.3))
    """How to descend."""
    smooth: Prior | None = field(default_factory=lambda: Prior(total_variation=0.1))
    """The prior where a network has neither ReLU nor max-pooling, and so no choices that balanced tensors help to find:
    tensors are left as they are there, and the prior is not relaxed. None: the same as elsewhere."""
    start: Start = field(default_factory=Start)
    """Where to begin."""
    restarts: int = 1
    """How many starts."""
    consistency: float = 0.0
    """The weight of what restarts have in common (Yin et al. 2021)."""
    labels: Literal["known", "recovered", "joint"] = "recovered"
    """Given, told from the last layer's gradient, or sought with the images."""
    statistics: Literal["none", "exact", "running", "own"] = "none"
    """What is known of what batch norm saw: nothing, all, running statistics around it, those of own images."""
    statistics_weight: float = 1e-3
    """α_BN."""
    peel: int = 1200
    """Steps of conjugate gradients for the linear systems that are tried first; 0: they are not."""
    simulate: int = 8
    """The most local steps that are simulated; more of them are stood for by one gradient."""
    updates: int | None = None
    """How many updates are attacked, the first ones; None: all."""

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override] # by value, not by class
        """Name what this setting takes of what is withheld."""
        return (
            *(("labels",) if self.labels == "known" else ()),
            *(("statistics",) if self.statistics == "exact" else ()),
            *(("own",) if self.statistics == "own" else ()),
        )

    def seek(self, release: UpdateRelease, chance: Randomness) -> Evidence:
        """Invert every update."""
        count = len(release.updates) if self.updates is None else min(self.updates, len(release.updates))
        images, about, distances, remarks = [], [], [], {}
        for number in track(range(count), "updates"):
            matcher = Matcher(self, release, number)
            found = matcher.match(chance)
            images.append(found.images.float().cpu())
            about += [number] * len(found.images)
            distances.append(found.distance)
        if release.sizes is None:
            remarks["sizes of batches"] = "estimated by the rank of dense layers' gradients"
        remarks["mean distance of gradients"] = f"{sum(distances) / len(distances):.3g}"
        return Evidence((Reconstruction(torch.cat(images), torch.tensor(about), "batches"),), remarks)

    def refuses(self, release: UpdateRelease) -> Refusal | None:
        """Refuse weights after steps of the length 0, which tell nothing, and updates that are all zero."""
        if release.scheme.sends == "weights" and release.scheme.work.rate <= 0:
            return Refusal(Reason.NO_LEARNING_RATE)
        empty = all(not bool(tensor.any()) for update in release.updates for tensor in update.values())
        return Refusal(Reason.NO_GRADIENT) if empty else None

    def work(self, task: Task) -> float:
        """Count the steps of all updates."""
        steps = attacked(self.updates, task) * self.restarts * self.optimiser.steps
        return float(steps) * task.images_per_item * task.pixels * WORK_OF_A_PIXEL

    def within(self, work: float, task: Task) -> Self:
        """Take fewer steps, then fewer restarts, then attack fewer updates."""
        least = min(LEAST_STEPS, self.optimiser.steps)
        steps = largest(lambda steps: _with_steps(self, steps).work(task), least, self.optimiser.steps, work)
        fitted = _with_steps(self, steps)
        if fitted.work(task) > work:
            restarts = largest(lambda count: replace(fitted, restarts=count).work(task), 1, self.restarts, work)
            fitted = replace(fitted, restarts=restarts)
        if fitted.work(task) > work:
            most = attacked(self.updates, task)
            updates = largest(lambda count: replace(fitted, updates=count).work(task), LEAST_UPDATES, most, work)
            fitted = replace(fitted, updates=updates)
        return fitted


def _with_steps(attack: A, steps: int) -> A:
    """Give an attack of fewer steps."""
    return replace(attack, optimiser=attack.optimiser.lowered(steps))
