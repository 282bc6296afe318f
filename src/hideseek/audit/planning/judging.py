"""What judging takes, and which metrics an audit has no time for."""

from collections.abc import Sequence
from typing import Any

from hideseek.audit.question import Question
from hideseek.records import Attack
from hideseek.records.result import Harm, Truth
from hideseek.score.claims import CLAIMS
from hideseek.score.metrics import METRICS

JUDGING = (1.0, 300_000)  # seconds, and multiplications a private pixel: metrics, baselines, resamples
SHARE = 0.25  # of the budget, for metrics that take far longer than others


def unjudged(attacks: Sequence[Attack[Any]], question: Question, unit: float) -> tuple[str, ...]:
    """Name the metrics that would take more than a share of the budget in all attacks together.

    The costliest are left out first. Verdicts rest on none of them: what an attack shows is the same without.
    """
    looked_at = sum(map(_guesses_images, attacks))
    costs = {name: looked_at * unit * work for name, work in _costly(question).items()}
    left_out: list[str] = []
    for name in sorted(costs, key=costs.__getitem__, reverse=True):
        if sum(costs.values()) - sum(costs[each] for each in left_out) > SHARE * question.budget:
            left_out.append(name)
    return tuple(left_out)


def judging_seconds(attack: Attack[Any], question: Question, unit: float, left_out: tuple[str, ...]) -> float:
    """Expect what judging an attack takes."""
    once, each = JUDGING
    looking = sum(work for name, work in _costly(question).items() if name not in left_out)
    return once + (each * question.private.images.numel() + _guesses_images(attack) * looking) * unit


def _guesses_images(attack: Attack[Any]) -> bool:
    """Tell whether an attack makes guesses of images: by what it can show."""
    return attack.shows is Harm.RECOVERED


def _costly(question: Question) -> dict[str, float]:
    """Count what metrics take that take far longer than others, for one attack; none of those that decide."""
    if question.truth is Truth.NONE:
        return {}
    decisive = {name for rules in CLAIMS.values() for name in rules.decisive}
    guesses, shape = len(question.private) * question.rounds, question.private.shape
    return {
        name: metric.work(guesses, shape)
        for name, metric in METRICS.items()
        if metric.work is not None and name not in decisive
    }
