"""Descending from several starts at once, and keeping the best by the objective alone."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.progress import track
from hideseek.seek.systems.matching_objective import Objective

PRINTED_DECAYS = (3 / 8, 5 / 8, 7 / 8)  # of all steps (Geiping et al. 2020)
LATER_DECAYS = (1 / 2, 3 / 4, 9 / 10)
LEARNED_RATE = 1e-3  # of what is learned beside images
Candidates = Float[Tensor, "restarts n c h w"]


@dataclass
class Sought:
    """What is descended by: images of every restart, and, where they are sought, logits of labels."""

    images: Candidates
    labels: Float[Tensor, "n classes"]
    logits: Float[Tensor, "restarts n classes"] | None = None
    limits: tuple[Tensor, Tensor] | None = None
    consistency: float = 0.0
    """The weight of ‖x − mean of the restarts‖² / pixels (Yin et al. 2021, group consistency)."""
    enlarge: Callable[[Tensor], Tensor] | None = None
    """Makes images of what is descended by, where that is smaller."""
    squares: float = 0.0
    """The weight of half of the sum of squares of what is descended by."""


@dataclass(frozen=True)
class Found:
    """The images of the restart whose objective is least, their labels, and that objective."""

    images: Float[Tensor, "n c h w"]
    labels: Float[Tensor, "n classes"]
    value: float
    distance: float


@dataclass(frozen=True)
class Optimiser(ABC):
    """How to descend, and for how many steps."""

    steps: int = 300
    relax: float = 1.0
    """What the prior is multiplied by where the rate falls, for one image: it leads first, and gradients decide the
    details. For a batch of n it is the nth root, since as many images share what a gradient tells."""
    passes: ClassVar[float] = 1.0
    """What passes of the network take in a step, by those of a step of Adam."""
    others: ClassVar[float] = 1.0
    """What all else takes, likewise."""

    def lowered(self, steps: int) -> Self:
        """Take fewer steps."""
        return replace(self, steps=min(self.steps, steps))

    @abstractmethod
    def descend(self, objective: Objective, sought: Sought) -> Found:
        """Descend."""


@dataclass(frozen=True)
class Adam(Optimiser):
    """Adam, whose rate falls tenfold three times; images are clamped to their range."""

    rate: float = 0.1
    signed: bool = True
    """Whether only the signs of derivatives count."""
    decays: tuple[float, ...] = PRINTED_DECAYS
    """Where the rate falls, as parts of all steps. `LATER_DECAYS` do better where steps are few (tuning images)."""

    def descend(self, objective: Objective, sought: Sought) -> Found:
        """Take the steps of all restarts side by side."""
        images = sought.images.clone()
        moved = [images, *([] if sought.logits is None else [sought.logits])]
        learned = objective.view.learned()
        optimiser = torch.optim.Adam(moved, lr=self.rate)
        others = torch.optim.Adam(learned, lr=LEARNED_RATE) if learned else None
        best = [Found(images[0], sought.labels, math.inf, math.inf)] * len(images)
        for step in track(range(self.steps), "matching gradients"):
            stage = sum(step >= self.steps * part for part in self.decays)
            optimiser.param_groups[0]["lr"] = self.rate * 0.1**stage
            if (weight := self.relax ** (stage / images.shape[1])) != objective.prior_weight:
                objective.prior_weight = weight  # values before cannot be compared with those to come
                best = [replace(each, value=math.inf) for each in best]
            slopes = [torch.zeros_like(each) for each in (*moved, *learned)]
            centre = images.mean(0) if sought.consistency else None
            for number in range(len(images)):
                found, parts = _evaluated(objective, sought, images[number], number, centre)
                if not math.isfinite(found.value):
                    continue
                best[number] = min(best[number], found, key=lambda each: each.value)
                for slope, part in zip(slopes[: len(moved)], parts, strict=False):
                    slope[number] = part
                for slope, part in zip(slopes[len(moved) :], parts[len(moved) :], strict=True):
                    slope.add_(part)
            for each, slope in zip((*moved, *learned), slopes, strict=True):
                each.grad = slope.sign_() if self.signed and each is images else slope
            optimiser.step()
            if others is not None:
                others.step()
            if sought.limits is not None:
                images.clamp_(*sought.limits)
        return min(best, key=lambda each: each.value)


@dataclass(frozen=True)
class Lbfgs(Optimiser):
    """L-BFGS in double precision, for smooth networks: near the minimum it converges faster than any power.

    Convolutions in double precision take several times as long, more so by double backward, and a step is one
    evaluation or two.
    """

    passes: ClassVar[float] = 24.0
    others: ClassVar[float] = 2.0

    line_search: bool = True
    """Whether steps obey Wolfe's conditions; without, every step has the length 1 (Zhu et al. 2019)."""

    def descend(self, objective: Objective, sought: Sought) -> Found:
        """Descend from each start by itself."""
        found = [self._one(objective, sought, number) for number in track(range(len(sought.images)), "matching")]
        return min(found, key=lambda each: each.value)

    def _one(self, objective: Objective, sought: Sought, number: int) -> Found:
        images = sought.images[number].clone()
        logits = None if sought.logits is None else sought.logits[number].clone()
        alone = replace(sought, logits=None if logits is None else logits[None])
        moved = [images, *([] if logits is None else [logits]), *objective.view.learned()]
        optimiser = torch.optim.LBFGS(
            moved, lr=1.0, max_iter=self.steps, max_eval=2 * self.steps, history_size=50, tolerance_grad=1e-14,
            tolerance_change=1e-16, line_search_fn="strong_wolfe" if self.line_search else None,
        )  # fmt: skip
        best = [Found(images.clone(), sought.labels, math.inf, math.inf)]

        def closure() -> float:
            found, slopes = _evaluated(objective, alone, images, 0, None)
            for each, slope in zip(moved, slopes, strict=True):
                each.grad = slope
            best[0] = found if found.value < best[0].value else best[0]
            return found.value

        optimiser.step(closure)
        return best[0]


def _evaluated(
    objective: Objective, sought: Sought, plain: Tensor, number: int, centre: Tensor | None
) -> tuple[Found, list[Tensor]]:
    """Evaluate one restart: what it would be worth to stop here, and where to go."""
    small = plain.detach().requires_grad_()
    images = small if sought.enlarge is None else sought.enlarge(small)
    leaf = images.detach().requires_grad_()
    logits = None if sought.logits is None else sought.logits[number].detach().requires_grad_()
    here = objective(leaf, logits, sought.labels)
    slopes = here.derivatives
    if sought.enlarge is not None:
        slopes = [torch.autograd.grad(images, small, slopes[0])[0], *slopes[1:]]
    value = here.value
    if centre is not None:
        apart = plain.detach() - centre
        value += sought.consistency * float(apart.square().mean())
        slopes[0] = slopes[0] + apart * (2 * sought.consistency / apart.numel())
    if sought.squares:
        value += sought.squares / 2 * float(plain.detach().square().sum())
        slopes[0] = slopes[0] + sought.squares * plain.detach()
    labels = sought.labels if logits is None else logits.detach().softmax(1)
    return Found(leaf.detach().clone(), labels, value, here.distance), slopes
