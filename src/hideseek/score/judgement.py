"""What a judge finds, and how it is written down."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch

from hideseek.records.result import Note
from hideseek.score.claims import CLAIMS
from hideseek.score.confidence import FEWEST, Interval
from hideseek.score.metric import Scores
from hideseek.score.significance import LEVEL, Significance

MOST = 10_000  # items that are written one by one


@dataclass(frozen=True)
class Score:
    """How one claim does by one metric."""

    metric: str
    claim: str  # the name of its kind
    number: int  # its place in the evidence
    values: Scores  # one an item; NaN where there was nothing to judge it by
    interval: Interval
    baselines: Mapping[str, Interval]
    best_baseline: str  # the one that is hardest to beat; "" where there is none
    advantage: Interval | None  # over the best baseline, item by item, and positive where the attack is better
    significance: Significance | None  # None where there is no baseline
    notes: tuple[Note, ...] = ()

    def beats_at(self, level: float) -> bool:
        """Tell whether the attack is better than all baselines, beyond chance at a level, and with images enough."""
        if self.advantage is None or self.significance is None or self.advantage.count < FEWEST:
            return False
        return self.advantage.mean > 0 and self.significance.p_value <= level

    @property
    def beats(self) -> bool:
        """Tell whether the attack is better than all baselines with 95 % confidence, as one figure alone."""
        return self.beats_at(LEVEL)


@dataclass(frozen=True)
class Skipped:
    """A metric that was not scored, and why: one sentence."""

    metric: str
    reason: str


@dataclass(frozen=True)
class Judgement:
    """All scores of an attack's evidence, and which metrics are missing."""

    scores: tuple[Score, ...]
    skipped: tuple[Skipped, ...]


def to_json(judgement: Judgement) -> dict[str, Any]:
    """Give a judgement as JSON can hold it: means, intervals, quantiles, and the scores of up to 10,000 items."""
    return {
        "scores": [_described(score) for score in judgement.scores],
        "skipped": [asdict(each) for each in judgement.skipped],
    }


def _described(score: Score) -> dict[str, Any]:
    metric = CLAIMS[score.claim].metrics[score.metric]
    known = score.values[score.values.isfinite()].double()
    quantiles = torch.quantile(known, torch.linspace(0, 1, 5, dtype=torch.float64))
    return {
        "metric": score.metric,
        "claim": score.claim,
        "number": score.number,
        "unit": metric.unit,
        "higher_is_better": metric.higher_is_better,
        "meaning": metric.meaning,
        **asdict(score.interval),
        "quartiles": quantiles.tolist(),
        "baselines": {name: asdict(baseline) for name, baseline in score.baselines.items()},
        "best_baseline": score.best_baseline,
        "advantage": None if score.advantage is None else asdict(score.advantage),
        "p_value": None if score.significance is None else score.significance.p_value,
        "beats": score.beats,
        "notes": [asdict(note) for note in score.notes],
        **({"values": _rounded(score.values)} if len(score.values) <= MOST else {}),
    }


def _rounded(values: Scores) -> list[float | None]:
    return [float(f"{value:.6g}") if value == value else None for value in values.tolist()]  # noqa: PLR0124 (NaN)
