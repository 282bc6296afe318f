"""Was this candidate trained on? The likelihood ratio of what the model says of it: LiRA (Carlini et al. 2022)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.records import Attack, Evidence, Membership, Refusal
from hideseek.records.model_release import ModelRelease
from hideseek.records.result import Harm
from hideseek.seek.members.shadow_models import Answers, answers, check_count, unsuited
from hideseek.seek.run import check

FEWEST = 4  # models, of which a candidate is in two: one number has no deviation
ENOUGH = 32  # models that a candidate is in, from which on it has variances of its own
LEAST = 1e-6  # a deviation, where all models say the same


@dataclass(frozen=True)
class Lira(Attack[ModelRelease]):
    """Fit a normal law to φ of models that a candidate is in, and of those that it is not, and compare the model's.

    Λ = log N(φ; μ_in, σ_in²) − log N(φ; μ_out, σ_out²), online, Algorithm 1 of the paper. With fewer than 64 models
    deviations are shared by all candidates, as in its §VI-C, but around the means of each, not of all. The paper has up
    to 256 models, and augmented queries, which are left out here since features have none.
    """

    sees: ClassVar[type[ModelRelease]] = ModelRelease
    needs: ClassVar[tuple[str, ...]] = ("candidates", "labels")
    source: ClassVar[str] = "Carlini et al. 2022"
    shows: ClassVar[Harm] = Harm.TOLD_APART

    models: int = 16
    """Shadow models, an even number."""

    def __post_init__(self) -> None:
        check_count(self.models, FEWEST)

    def seek(self, release: ModelRelease, chance: Randomness) -> Evidence:
        """Train shadow models, and score every candidate."""
        check(self, release)
        found = answers(release, self.models, chance)
        scores = likelihood_ratios(found)
        remarks = {"shadow models": self.models, "log odds, median": round(float(scores.median()), 3)}
        return Evidence((Membership(torch.arange(len(scores)), scores.float()),), remarks)

    def refuses(self, release: ModelRelease) -> Refusal | None:
        """Refuse candidates that the model does not take."""
        return unsuited(release)


def likelihood_ratios(found: Answers) -> Float[Tensor, " candidates"]:
    """Give Λ of every candidate."""
    logs = []
    for side in (found.inside, ~found.inside):
        counts = side.sum(0)
        means = (found.shadows * side).sum(0) / counts
        squares = ((found.shadows - means).square() * side).sum(0)
        if int(counts.min()) >= ENOUGH:
            variances = squares / (counts - 1)
        else:  # each candidate has spent one of its numbers on its own mean
            variances = squares.sum() / (counts - 1).sum().clamp_min(1) * torch.ones_like(squares)
        variances = variances.clamp_min(LEAST**2)
        logs.append(-(found.target - means).square() / (2 * variances) - variances.log() / 2)
    return logs[0] - logs[1]
