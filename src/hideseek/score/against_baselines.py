"""A score beside its baselines: intervals around both, the best baseline, and whether it is beaten."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from jaxtyping import Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.records.result import Note, NoteKind
from hideseek.score.confidence import FEWEST, Interval, interval
from hideseek.score.judgement import Score
from hideseek.score.metric import Metric, Scores

CHANCE = "chance"  # the baseline that is known exactly


def compared(
    name: tuple[str, str, int],
    metric: Metric,
    values: Scores,
    below: Mapping[str, Scores],
    groups: Int[Tensor, " n"],
    note: Note | None,
    chance: Randomness,
) -> Score:
    """Put intervals around a score and its baselines, and compare it with the best of them.

    `name` is that of the metric and of the claim, and the claim's place in the evidence.
    """
    sign = 1 if metric.higher_is_better else -1
    below = {baseline: each for baseline, each in below.items() if (values - each).isfinite().any()}
    under = {baseline: _interval(each, groups, chance) for baseline, each in below.items()}
    covered = {baseline: int((values - each).isfinite().sum()) for baseline, each in below.items()}
    whole = [each for each in under if covered[each] == max(covered.values())]  # one of a few items proves nothing
    best = max(whole, key=lambda baseline: sign * under[baseline].mean, default="")
    advantage = _interval(sign * (values.double() - below[best].double()), groups, chance) if best else None
    if advantage is not None and metric.higher_is_better and _yes_or_no(values, groups):
        advantage = replace(advantage, p_value=_exact_p_value(values, below[best], best == CHANCE))
    found = _interval(values, groups, chance)
    notes = (*(() if note is None else (note,)), *_notes(metric, values, found))
    return Score(*name, values, found, under, best, advantage, notes)


def _notes(metric: Metric, values: Scores, found: Interval) -> Iterator[Note]:
    """Say what a reader must know of the figure."""
    if metric.limit is not None and (exact := int((values >= metric.limit).sum())):
        yield Note(NoteKind.EXACT, exact, value=metric.limit, unit=metric.unit)
    if missing := int((~values.isfinite()).sum()):
        yield Note(NoteKind.NO_GROUND_TRUTH, missing, len(values))
    if found.count < FEWEST:
        yield Note(NoteKind.FEW_IMAGES, found.count, FEWEST)


def _yes_or_no(values: Scores, groups: Int[Tensor, " n"]) -> bool:
    """Tell whether every image was either found or not, and each is there once; a tie for the first place is a half."""
    halves = values[values.isfinite()] * 2
    return bool(((halves == 0) | (halves == 1) | (halves == 2)).all()) and len(groups.unique()) == len(groups)


def _exact_p_value(values: Scores, baseline: Scores, known: bool) -> float:
    """Give the chance of as many hits at the baseline's rate, by the binomial law; ties are no hits.

    Student's test knows little of a few hits among many. A rate that is not known but seen gets one more hit.
    """
    from scipy.stats import binomtest

    both = (values - baseline).isfinite()
    count, hits = int(both.sum()), int((values[both] >= 1).sum())
    rate = float(baseline[both].double().mean()) if known else (float(baseline[both].double().sum()) + 1) / (count + 1)
    return float(binomtest(hits, count, min(rate, 1.0), alternative="greater").pvalue)


def _interval(values: Scores, groups: Int[Tensor, " n"], chance: Randomness) -> Interval:
    """Bootstrap the mean of what could be judged."""
    known = values.isfinite()
    return interval(values[known], chance, groups[known])
