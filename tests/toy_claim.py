"""A kind of claim of which hideseek knows nothing: how bright the private images are."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.records import Claim
from hideseek.records.result import Curve, Harm
from hideseek.records.secret import Secret
from hideseek.score.checks import check_within
from hideseek.score.claim_rules import Baseline, as_it_is, counted, no_examples, no_guesses
from hideseek.score.metric import Metric, Scores


@dataclass(frozen=True)
class Brightness(Claim, name="brightness"):
    """These images are so bright."""

    about: Int[Tensor, " n"]
    values: Float[Tensor, " n"]


def check(claim: Brightness, secret: Secret) -> None:
    check_within(claim.about, len(secret.private), "private image")


def baselines(claim: Brightness, secret: Secret, chance: Randomness) -> Iterator[Baseline]:
    yield Baseline("mean brightness", replace(claim, values=brightness(secret).mean().expand_as(claim.values)))
    shuffled = claim.values[chance.permutation(len(claim.values))]
    yield Baseline("shuffled", replace(claim, values=shuffled), drawn=True)


def brightness(secret: Secret) -> Tensor:
    return secret.private.pixels().mean((1, 2, 3))


def error(claim: Brightness, secret: Secret) -> Scores:
    return (claim.values - brightness(secret)[claim.about]).abs()


def curves(claim: Brightness, secret: Secret) -> tuple[Curve, ...]:
    return (Curve("Brightness", "image", "error", (0.0,), (float(error(claim, secret)[0]),), (0.0,)),)


METRIC = Metric(
    error, lambda claim, _: claim.about, False, "", "how far off", "brightness is {value} off, by {name} {baseline}"
)
RULES: dict[str, Any] = {
    "claim": Brightness,
    "check": check,
    "prepare": as_it_is,
    "baselines": baselines,
    "metrics": {"brightness-error": METRIC},
    "decisive": {"brightness-error": Harm.PARTS},
    "curves": curves,
    "examples": no_examples,
    "states": counted("images, with how bright they are"),
    "guesses": no_guesses,
}
