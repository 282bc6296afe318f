"""Was this candidate trained on? Compared pairwise with all others: RMIA (Zarifzadeh, Liu and Shokri 2024)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records import Attack, Evidence, Membership, Refusal
from hideseek.records.model_release import ModelRelease
from hideseek.records.result import Harm
from hideseek.seek.members.shadow_models import Answers, answers, check_count, unsuited
from hideseek.seek.run import check

CHUNK = 256  # candidates that are compared with all others at a time


@dataclass(frozen=True)
class Rmia(Attack[ModelRelease]):
    """Count the others z that a candidate x beats: (p(x|θ) / p(x)) / (p(z|θ) / p(z)) ≥ γ.

    p(x|θ) is the model's probability of the label, and p(x) its mean over shadow models, half of which had x: the
    online form. γ = 2, as published; the population z are the other candidates, half of which are no members. A model
    that is unsure of all gives ratios of less than γ, and so ties: these are broken by p(x|θ) / p(x) itself.
    """

    sees: ClassVar[type[ModelRelease]] = ModelRelease
    needs: ClassVar[tuple[str, ...]] = ("candidates", "labels")
    source: ClassVar[str] = "Zarifzadeh, Liu and Shokri 2024"
    shows: ClassVar[Harm] = Harm.TOLD_APART

    models: int = 4
    """Shadow models, an even number: it was made for few."""
    gamma: float = 2.0
    """γ, by which a candidate has to beat another."""

    def __post_init__(self) -> None:
        check_count(self.models)
        if not 0 < self.gamma < float("inf"):
            raise BadInput(f"gamma must be positive and finite, not {self.gamma}.")

    def seek(self, release: ModelRelease, chance: Randomness) -> Evidence:
        """Train shadow models, and score every candidate."""
        check(self, release)
        found = answers(release, self.models, chance)
        ranks = ratios(found).argsort(stable=True).argsort(stable=True).double()
        scores = shares_beaten(found, self.gamma) + ranks / len(ranks) ** 2
        return Evidence((Membership(torch.arange(len(scores)), scores.float()),), {"shadow models": self.models})

    def refuses(self, release: ModelRelease) -> Refusal | None:
        """Refuse candidates that the model does not take."""
        return unsuited(release)


def ratios(found: Answers) -> Float[Tensor, " candidates"]:
    """Give p(x|θ) / p(x)."""
    return found.target.sigmoid() / found.shadows.sigmoid().mean(0).clamp_min(1e-300)


def shares_beaten(found: Answers, gamma: float) -> Float[Tensor, " candidates"]:
    """Give the share of others whose ratio is at most 1/γ of a candidate's."""
    each = ratios(found)
    beaten = torch.cat([(part[:, None] >= gamma * each).sum(1) for part in each.split(CHUNK)])
    own = int(gamma <= 1)  # a candidate is none of the others
    return (beaten - own).double() / max(1, len(each) - 1)
