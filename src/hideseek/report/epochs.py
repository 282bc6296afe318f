"""What leaks over epochs: for each way of sharing, what the strongest attack finds in each state of the model."""

from dataclasses import dataclass

from hideseek.records.result import AttackResult, Figure, ModelState, Outcome, Result, SchemeResult
from hideseek.report.ranking import FOUND

SHOWN = ("recovered", "re-identified", "ssim", "psnr", "lpips-alex", "lpips-vgg")
CRAFTED = "crafted"  # given to those who chose the weights: then the state is theirs, and none of a training


@dataclass(frozen=True)
class EpochPoint:
    """What the strongest attack finds in one state, by each metric that it was judged by."""

    scheme: SchemeResult
    state: ModelState
    figures: dict[str, tuple[AttackResult, Figure]]
    """By metric: the attack that does best, and how it does."""


def over_epochs(result: Result) -> dict[str, tuple[EpochPoint, ...]]:
    """Give the states of each series, by their epochs; nothing where no scheme was audited in several states."""
    found: dict[str, list[EpochPoint]] = {}
    for scheme in result.schemes:
        if scheme.state is not None:
            point = EpochPoint(scheme, scheme.state, {name: best for name in SHOWN if (best := _best(scheme, name))})
            found.setdefault(scheme.state.series, []).append(point)
    return {name: tuple(sorted(points, key=lambda each: each.state.epoch)) for name, points in found.items()}


def metrics_over_epochs(result: Result) -> tuple[str, ...]:
    """Name the metrics by which some state was judged."""
    points = [point for series in over_epochs(result).values() for point in series]
    return tuple(name for name in SHOWN if any(name in point.figures for point in points))


def _best(scheme: SchemeResult, metric: str) -> tuple[AttackResult, Figure] | None:
    """Find the attack on the model of the training that does best by a metric, among those that are believed."""
    judged = [
        (attack, figure)
        for attack in scheme.attacks
        if attack.outcome in (*FOUND, Outcome.RESISTED) and CRAFTED not in attack.given
        for figure in attack.figures
        if figure.metric == metric and figure.claim == "reconstruction"
    ]
    return max(judged, key=lambda pair: (1 if pair[1].higher_is_better else -1) * pair[1].found.mean, default=None)
