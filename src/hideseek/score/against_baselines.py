"""A score beside its baselines: intervals around both, the best baseline, and whether it is beaten."""

import math
from collections.abc import Iterator, Mapping

from jaxtyping import Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.records.result import Note, NoteKind
from hideseek.score.confidence import FEWEST, Interval, interval
from hideseek.score.judgement import Score
from hideseek.score.metric import Metric, Scores
from hideseek.score.significance import Significance, known_rate, seen_rate, sign_flips

CHANCE = "chance"  # the baseline that is known exactly
ROUNDING = 1e-5  # of a score: what it is computed to


def compared(
    name: tuple[str, str, int],
    metric: Metric,
    values: Scores,
    below: Mapping[str, Scores],
    groups: Int[Tensor, " n"],
    note: Note | None,
    tested: Significance | None,
    chance: Randomness,
) -> Score:
    """Put intervals around a score and its baselines, and compare it with the best of them.

    `name` is that of the metric and of the claim, and the claim's place in the evidence; `tested` is what the metric's
    own test says, if it has one.
    """
    sign = 1 if metric.higher_is_better else -1
    below = {baseline: each for baseline, each in below.items() if (values - each).isfinite().any()}
    under = {baseline: _interval(each, groups, chance) for baseline, each in below.items()}
    covered = {baseline: int((values - each).isfinite().sum()) for baseline, each in below.items()}
    whole = [each for each in under if covered[each] == max(covered.values())]  # one of a few items proves nothing
    best = max(whole, key=lambda baseline: sign * under[baseline].mean, default="")
    advantage = _interval(sign * (values.double() - below[best].double()), groups, chance) if best else None
    if best and tested is None:
        tested = _tested(metric, values, below[best], best == CHANCE, groups)
    found = _interval(values, groups, chance)
    notes = (*(() if note is None else (note,)), *_notes(metric, values, found))
    return Score(*name, values, found, under, best, advantage, tested if best else None, notes)


def _notes(metric: Metric, values: Scores, found: Interval) -> Iterator[Note]:
    """Say what a reader must know of the figure."""
    if metric.limit is not None and (exact := int((values >= metric.limit).sum())):
        yield Note(NoteKind.EXACT, exact, value=metric.limit, unit=metric.unit)
    if missing := int((~values.isfinite()).sum()):
        yield Note(NoteKind.NO_GROUND_TRUTH, missing, len(values))
    if found.count < FEWEST:
        yield Note(NoteKind.FEW_IMAGES, found.count, FEWEST)


def _tested(metric: Metric, values: Scores, baseline: Scores, known: bool, groups: Int[Tensor, " n"]) -> Significance:
    """Test a score against one baseline, image by image; hits are counted where every image is either found or not."""
    both = (values - baseline).isfinite()
    values, baseline, groups = values[both].double(), baseline[both].double(), groups[both]
    if metric.higher_is_better and _yes_or_no(values, groups):
        hits, count = int((values >= 1).sum()), len(values)  # ties for the first place are no hits
        if known:
            return known_rate(hits, count, float(baseline.mean()))
        return seen_rate(hits, math.ceil(float(baseline.sum())), count)
    sign, mean = (1 if metric.higher_is_better else -1), float(baseline.mean())
    advantages = sign * (values - baseline)
    advantages[advantages.abs() <= ROUNDING * baseline.abs()] = 0.0  # the same answer, computed in another order
    return sign_flips(advantages, groups, lambda advantage: mean + sign * advantage)


def _yes_or_no(values: Scores, groups: Int[Tensor, " n"]) -> bool:
    """Tell whether every image was either found or not, and each is there once; a tie for the first place is a half."""
    halves = values * 2
    return bool(((halves == 0) | (halves == 1) | (halves == 2)).all()) and len(groups.unique()) == len(groups)


def _interval(values: Scores, groups: Int[Tensor, " n"], chance: Randomness) -> Interval:
    """Bootstrap the mean of what could be judged."""
    known = values.isfinite()
    return interval(values[known], chance, groups[known])
