"""Gradient matching: images whose gradients are those that were shared; papers on it are values of one mechanism."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self, TypeVar

import torch
from torch import nn

from hideseek.chance import Randomness
from hideseek.progress import track
from hideseek.records import Attack, Evidence, Reason, Reconstruction, Refusal, Task
from hideseek.records.samples import describe_shape
from hideseek.records.update_encoder import Mode
from hideseek.records.update_release import UpdateRelease
from hideseek.seek.systems.batch_norm_aims import Aim
from hideseek.seek.systems.gradient_distance import Cosine, Squared
from hideseek.seek.systems.image_starts import Start
from hideseek.seek.systems.known_statistics import Knowledge
from hideseek.seek.systems.matching_loop import LATER_DECAYS, Adam, Lbfgs
from hideseek.seek.systems.matching_prior import Prior
from hideseek.seek.systems.own_images import FEWEST, OwnImages
from hideseek.seek.updates.finite import not_finite
from hideseek.seek.updates.matched_update import Matcher, Shared
from hideseek.seek.updates.update_comparison import Compares
from hideseek.seek.work import CALL, TOUCH, attacked, largest
from hideseek.train.batch_statistics import batch_norms

Local = Literal["chosen", "one gradient", "surrogate", "simulated"]
PASSES = 6  # of the network, for each image and step: there and back by weights and images, there and back again
OVER_PARAMETERS, OVER_PIXELS, CALLS = 16, 40, 200  # of one step: passes over an update, over images, and calls of torch
AIMED = 1.3  # times as long takes a step where what batch norm saw is aimed at
ASKED = 1000  # passes of the network, once: what it says of images, and what its batch norm sees of them
LEAST_STEPS, LEAST_IMAGES = 200, 12  # fewer steps show nothing of images behind ReLUs, and fewer images prove nothing
FEW = 4  # images of a batch, for which priors were chosen
LEAST_UPDATES = 2  # however many images are in each

A = TypeVar("A", bound="GradientMatching")


@dataclass(frozen=True)
class TrainMode:
    """What matching does otherwise where batch norm took the statistics of the client's own batch.

    Batch norm subtracts from what flows back its mean and its part along its own output, of the whole batch. What is
    left turns with small changes of an image, most of all in the first layers (`benchmarks/local_work.py` measures it),
    so that the prior has to lead for longer, and steps be larger.
    """

    prior: Prior = field(default_factory=lambda: Prior(total_variation=0.3))
    rate: float = 0.7
    """Of Adam."""


@dataclass(frozen=True)
class GradientMatching(Attack[UpdateRelease]):
    """Seek images whose gradients are those that were shared.

    x̂ = argmin D(g(x, y), ĝ) + α_TV TV(x) + α_BN Σ_{layers} (‖μ − μ̂‖ + ‖σ² − σ̂²‖) (Huang et al. 2021, Eq. 3), from
    several starts, of which the one with the least objective counts. Linear systems tell what layers took in of each
    image, from the end on (`layer_peeling`). In a chain without poolings they lead to the image, where the update is
    of one, and matching is left out; else what they tell of the layer nearest to the images is an aim of matching.
    Updates of several local steps are simulated, or stood for by a gradient between the two states.
    Deviation: a defended update is compared with all that it can have been before; see `compares`.
    """

    sees: ClassVar[type[UpdateRelease]] = UpdateRelease
    source: ClassVar[str] = "Zhu et al. 2019, Geiping et al. 2020, Huang et al. 2021; balanced tensors are ours"

    distance: Cosine | Squared = field(default_factory=lambda: Cosine(balance=0.5))
    """How gradients are compared."""
    prior: Prior = field(default_factory=lambda: Prior(total_variation=3e-2))
    """What is expected of images."""
    optimiser: Adam | Lbfgs = field(default_factory=lambda: Adam(600, rate=0.6, relax=0.3, decays=LATER_DECAYS))
    """How to descend."""
    smooth: Prior | None = field(default_factory=lambda: Prior(total_variation=0.1))
    """The prior where a network has neither ReLU nor max-pooling, and so no choices that balanced tensors help to find:
    tensors are left as they are there, and the prior is not relaxed. None: the same as elsewhere."""
    prior_growth: float = 0.75
    """The power of n / 4 by which the prior is multiplied for a batch of n > 4 images, since they share what one
    gradient tells; 0: the prior is the same for all batches. Chosen on own images, in batches of 4, 16 and 32."""
    start: Start = field(default_factory=Start)
    """Where to begin."""
    compares: Compares = "allowed"
    """Whether gradients are compared with what defences allow (`Defence.before`), with the entries that pruning left
    alone (Huang et al. 2021), or with an update as if it were undefended."""
    own: OwnImages | None = None
    """What is expected of images by the attacker's own, among which is searched; None: nothing."""
    restarts: int = 1
    """How many starts."""
    consistency: float = 0.0
    """The weight of what restarts have in common (Yin et al. 2021)."""
    labels: Literal["known", "recovered", "joint"] = "recovered"
    """Given, told from the last layer's gradient, or sought with the images."""
    statistics: Knowledge = "offered"
    """Who knows what batch norm saw: nobody (none); one who was told (exact); one with running statistics before and
    after (running); one with images like those sought (own); or the best of the last two that a release has."""
    aim: Aim = "relative"
    """What the term of statistics is: distances of means and variances as printed (norms), or in the units that each
    channel has (relative)."""
    statistics_weight: float = 0.3
    """α_BN."""
    forward: Literal["batch", "known"] = "batch"
    """What the attacker's own passes take: statistics of his images, as the client did, or those that he knows."""
    train_mode: TrainMode | None = field(default_factory=TrainMode)
    """What is done otherwise where batch norm is in train mode; None: nothing."""
    inputs_weight: float = 0.8
    """The weight of what a layer is known to have taken in (`known_inputs`); 0: it is not aimed at."""
    peel: int = 1200
    """Steps of conjugate gradients for the linear systems that are tried first; 0: they are not."""
    simulate: int = 8
    """The most local steps that are simulated where ways are chosen; more of them are stood for by one gradient."""
    local: Local = "chosen"
    """How several local steps are computed again: as one gradient of the first state, as one between both states
    (surrogate), or step by step. Chosen: few by simulation, and between both states where epochs may be shuffled; many
    as one gradient, of the first state and between both. The least objective counts."""
    updates: int | None = None
    """How many updates are attacked, the first ones; None: all."""

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override] # by value, not by class
        """Name what this setting takes of what is withheld."""
        return (
            *(("labels",) if self.labels == "known" else ()),
            *(("statistics",) if self.statistics == "exact" else ()),
            *(("own",) if self.statistics == "own" or self.own is not None else ()),
        )

    def seek(self, release: UpdateRelease, chance: Randomness) -> Evidence:
        """Invert every update."""
        count = len(release.updates) if self.updates is None else min(self.updates, len(release.updates))
        images, about, distances = [], [], []
        remarks: dict[str, Any] = {}
        shared = Shared(release, None if self.own is None or release.own is None else self.own.basis(release.own))
        for number in track(range(count), "updates"):
            matcher = Matcher(self, release, number, shared)
            found = matcher.match(chance)
            images.append(found.images.float().cpu())
            about += [number] * len(found.images)
            distances.append(found.distance)
        if release.sizes is None:
            remarks["batch sizes"] = shared.heads.said(count)
        remarks["mean distance of gradients"] = f"{sum(distances) / len(distances):.3g}"
        return Evidence((Reconstruction(torch.cat(images), torch.tensor(about), "batches"),), remarks)

    def refuses(self, release: UpdateRelease) -> Refusal | None:
        """Refuse weights after steps of the length 0, which tell nothing, and updates of zeros, or of no numbers."""
        if release.scheme.sends == "weights" and release.scheme.work.rate <= 0:
            return Refusal(Reason.NO_LEARNING_RATE)
        if (reason := not_finite(release)) is not None:
            return reason
        if self.own is not None and release.own is not None:
            if release.own.shape != release.shape or release.own.normalisation != release.normalisation:
                given, wanted = describe_shape(release.own.shape), describe_shape(release.shape)
                return Refusal(Reason.UNSUITED_OWN_IMAGES, {"given": given, "wanted": wanted})
            if len(release.own) < FEWEST:
                return Refusal(Reason.TOO_FEW_OWN_IMAGES, {"given": len(release.own), "wanted": FEWEST})
        empty = all(not bool(tensor.any()) for update in release.updates for tensor in update.values())
        return Refusal(Reason.NO_GRADIENT) if empty else None

    def for_batch(self, network: nn.Module, mode: Mode, size: int) -> Self:
        """Give the settings for a batch of this size, and for batch norm in train mode, where the client's is."""
        other, prior, optimiser = self.train_mode, self.prior, self.optimiser
        if other is not None and mode == "train" and batch_norms(network):
            prior = other.prior
            optimiser = replace(optimiser, rate=other.rate) if isinstance(optimiser, Adam) else optimiser
        grown = prior.times(max(1.0, size / FEW) ** self.prior_growth)
        return replace(self, prior=grown, prior_growth=0.0, optimiser=optimiser, train_mode=None)

    def work(self, task: Task) -> float:
        """Count the steps of all updates: passes of the network for the batch, and passes over the parameters."""
        batch, optimiser = max(1, task.images_per_item), self.optimiser
        once = ASKED * task.network + (0.0 if self.own is None else self.own.work(task))
        passes = batch * PASSES * task.network
        others = batch * OVER_PIXELS * TOUCH * task.pixels + OVER_PARAMETERS * TOUCH * task.parameters + CALLS * CALL
        aims = self.statistics == "exact" or (self.statistics != "none" and task.batch_statistics)
        step = (AIMED if aims else 1.0) * (optimiser.passes * passes + optimiser.others * others)
        return once + float(attacked(self.updates, task) * self.restarts * optimiser.steps) * step

    def within(self, work: float, task: Task) -> Self:
        """Take fewer steps, then fewer restarts, then attack fewer updates."""
        least = min(LEAST_STEPS, self.optimiser.steps)
        steps = largest(lambda steps: _with_steps(self, steps).work(task), least, self.optimiser.steps, work)
        fitted = _with_steps(self, steps)
        if fitted.work(task) > work:
            restarts = largest(lambda count: replace(fitted, restarts=count).work(task), 1, self.restarts, work)
            fitted = replace(fitted, restarts=restarts)
        if fitted.work(task) > work:
            fewest, most = -(-LEAST_IMAGES // max(1, task.images_per_item)), attacked(self.updates, task)
            fewest = max(LEAST_UPDATES, fewest)
            updates = largest(lambda count: replace(fitted, updates=count).work(task), fewest, most, work)
            fitted = replace(fitted, updates=updates)
        return fitted


def _with_steps(attack: A, steps: int) -> A:
    """Give an attack of fewer steps."""
    return replace(attack, optimiser=attack.optimiser.lowered(steps))
