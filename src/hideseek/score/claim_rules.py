"""What is known of a kind of claim: all that a judge, an audit and a report need, in one value.

The file of a claim makes it. A part that is missing, or does not fit the others, is an error when the file is imported.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any, Literal, NamedTuple

from jaxtyping import Float
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.records import Claim, Release
from hideseek.records.result import Claimed, Curve, Harm
from hideseek.records.secret import Secret
from hideseek.score.metric import Metric

FACTS = {"value", "baseline", "name", "images"}  # that a finding may speak of


class Baseline(NamedTuple):
    """A claim that ignores the release, judged like the attack's; item by item it is about the same."""

    name: str
    claim: Claim
    drawn: bool = False
    """Whether it is chance, drawn once: it is left out where a metric knows its chance exactly."""


@dataclass(frozen=True)
class Shown:
    """Pictures to look at side by side, and how the attack did on them: `metric` of image or row `number`."""

    kind: Literal["best", "median", "worst", "example"]
    subject: str
    number: int
    metric: str
    value: float
    unit: str
    panels: tuple[tuple[str, Float[Tensor, "c h w"], bool], ...]
    """A label, a picture, and whether it shows a private image."""


@dataclass(frozen=True)
class ClaimRules:
    """How a kind of claim is checked, judged and shown."""

    claim: type[Claim]
    check: Callable[[Any, Secret], None]
    """Refuses a claim that cannot be about the release which the secret belongs to; it may come from a stranger."""
    prepare: Callable[[Any, Secret], Claim]
    """Gives the claim as metrics and baselines want it; see `as_it_is`."""
    baselines: Callable[[Any, Secret, Randomness], Iterator[Baseline]]
    """Gives claims like this one that ignore the release, one after another; see `no_baselines`."""
    metrics: Mapping[str, Metric]
    decisive: Mapping[str, Harm]
    """The metrics that a verdict may rest on, chosen before any audit, and how bad it is if one beats its baseline."""
    curves: Callable[[Any, Secret], tuple[Curve, ...]]
    """Gives the lines to draw, none where there is nothing to compare; see `no_curves`."""
    examples: Callable[[Any, Release, Secret], list[Shown]]
    """Gives the pictures to show; see `no_examples`."""
    states: Callable[[Any], Claimed]
    """Gives what the claim states by itself, where there is no truth to judge it by; see `counted`."""
    guesses: Callable[[Any, Release], list[Shown]]
    """Gives the pictures to show then; see `no_guesses`."""
    exposure: Callable[[Any, Secret], Float[Tensor, " private"]] | None = None
    """Gives for each private image how far the claim points to it: the share of the gallery's others that fit worse,
    NaN where it says nothing of an image; None: the claim says nothing of single images."""

    def __post_init__(self) -> None:
        """Refuse rules with a part that is missing, or does not fit the others."""
        name = getattr(self.claim, "name", None)
        if name is None:
            raise TypeError(f"{self.claim!r} is no claim with a name.")
        for part in ("check", "prepare", "baselines", "curves", "examples", "states", "guesses"):
            if not callable(getattr(self, part)):
                raise TypeError(f"the rules of {name} lack {part}.")
        if not self.metrics or not self.decisive:
            raise TypeError(f"the rules of {name} lack metrics, or one that decides.")
        for metric, harm in self.decisive.items():
            if metric not in self.metrics:
                raise TypeError(f"{metric} shall decide about {name}, and is no metric of it.")
            if not isinstance(harm, Harm) or harm is Harm.NOTHING:
                raise TypeError(f"{metric} decides about {name}, so it needs a harm, not {harm!r}.")
            if not self.metrics[metric].finding:
                raise TypeError(f"{metric} decides about {name}, so it needs a finding.")
            if self.baselines is no_baselines and self.metrics[metric].chance is None:
                raise TypeError(f"{metric} decides about {name}, so it needs a baseline or its chance.")
        for metric, rule in self.metrics.items():
            if unknown := {field for _, field, _, _ in Formatter().parse(rule.finding) if field is not None} - FACTS:
                raise TypeError(f"the finding of {metric} speaks of {', '.join(sorted(unknown))}.")


def as_it_is(claim: Claim, secret: Secret) -> Claim:
    """Prepare nothing."""
    return claim


def no_baselines(claim: Claim, secret: Secret, chance: Randomness) -> Iterator[Baseline]:
    """Give no baseline: then every metric that decides must know its chance."""
    yield from ()


def no_curves(claim: Claim, secret: Secret) -> tuple[Curve, ...]:
    """Draw nothing."""
    return ()


def no_examples(claim: Claim, release: Release, secret: Secret) -> list[Shown]:
    """Show nothing."""
    return []


def no_guesses(claim: Claim, release: Release) -> list[Shown]:
    """Show nothing."""
    return []


def counted(things: str) -> Callable[[Claim], Claimed]:
    """State how many things a claim is about, and nothing else of them."""

    def states(claim: Claim) -> Claimed:
        count = next((len(value) for value in claim.parts().values() if isinstance(value, Tensor)), 0)
        return Claimed(claim.name, count, f"{{count}} {things}")

    return states
