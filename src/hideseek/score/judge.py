"""Judging evidence: every claim by every metric that fits it, beside what it takes to score without a clue."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from jaxtyping import Int
from scipy.special import bdtrc
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.errors import BadInput, no_such
from hideseek.records import Claim, Evidence, Reconstruction
from hideseek.records.mixing_secret import MixingSecret
from hideseek.score.baselines import DRAWN, baselines
from hideseek.score.check import check
from hideseek.score.confidence import FEWEST, Interval, interval
from hideseek.score.ground_truth import match_guesses
from hideseek.score.judgement import Judgement, Score, to_json
from hideseek.score.metric import Metric, Scores
from hideseek.score.metrics import METRICS

__all__ = ["Judgement", "Score", "judge", "to_json"]

EMPTY = "the attack claims nothing: there is nothing to score."


def judge(
    evidence: Evidence, secret: MixingSecret, chance: Randomness, metrics: Sequence[str] | None = None
) -> Judgement:
    """Score every claim by these metrics, or by all that fit it, with baselines and intervals.

    Intervals are bootstrapped over private images: items about the same one are drawn together. Unless asked for by
    name, a metric that would take very long, or fetch hundreds of megabytes first, is left out. Baselines and intervals
    of a metric do not depend on which others are asked for.
    """
    for name in metrics or ():
        if name not in METRICS:
            raise no_such("metric", name, METRICS)
    claims = [_on_processor(claim) for claim in evidence.claims]
    for claim in claims:
        check(claim, secret)
    scores: list[Score] = []
    skipped: dict[str, str] = {}
    for name in metrics or ():
        if not any(isinstance(claim, METRICS[name].of) for claim in claims):
            skipped[name] = f"it is for claims of the kind {METRICS[name].of.__name__}, and the attack makes none."
    for number, (claim, stream) in enumerate(zip(claims, chance.spawn(len(claims)), strict=True)):
        wanted = {name: METRICS[name] for name in metrics or METRICS if isinstance(claim, METRICS[name].of)}
        if not metrics:
            _leave_out_unnamed(claim, secret, wanted, skipped)
        scores += _judge(number, claim, secret, stream, wanted, skipped)
    return Judgement(tuple(scores), skipped)


def _leave_out_unnamed(claim: Claim, secret: MixingSecret, metrics: dict[str, Metric], skipped: dict[str, str]) -> None:
    """Leave out what nobody should have to wait for without having asked for it."""
    for name, metric in list(metrics.items()):
        if metric.skip_unless_named is not None and (reason := metric.skip_unless_named(claim, secret)):
            del metrics[name]
            skipped[name] = reason


def _judge(
    number: int,
    claim: Claim,
    secret: MixingSecret,
    chance: Randomness,
    metrics: Mapping[str, Metric],
    skipped: dict[str, str],
) -> list[Score]:
    """Score one claim."""
    by_floors, by_metrics = chance.spawn(2)
    streams = dict(zip(METRICS, by_metrics.spawn(len(METRICS)), strict=True))
    if _empty(claim):
        skipped.update(dict.fromkeys(metrics, EMPTY))
        return []
    matched = match_guesses(claim, secret) if isinstance(claim, Reconstruction) else claim
    values: dict[str, Scores] = {}
    for name, metric in metrics.items():
        try:
            values[name] = metric.score(matched, secret)
        except BadInput as reason:
            skipped[name] = str(reason)
    below: dict[str, dict[str, Scores]] = {name: {} for name in values}
    for baseline, idle in baselines(matched, secret, by_floors):
        for name in values:
            if metrics[name].chance is None or baseline not in DRAWN:
                below[name][baseline] = metrics[name].score(idle, secret)
    for name in values:
        if (by_chance := metrics[name].chance) is not None:
            below[name]["chance"] = by_chance(matched, secret)
    scores = []
    for name, found in values.items():
        if not found.isfinite().any():
            skipped[name] = "there is nothing to judge any of its items by."
            continue
        groups = metrics[name].groups(matched, secret)
        note = metrics[name].note
        notes = [note(matched, secret)] if note is not None else []
        scores.append(_score(name, number, found, groups, below[name], notes, streams[name]))
    return scores


def _score(
    name: str,
    number: int,
    values: Scores,
    groups: Int[Tensor, " n"],
    below: Mapping[str, Scores],
    notes: list[str],
    chance: Randomness,
) -> Score:
    """Put intervals around a score and its baselines, and compare it with the best of them."""
    metric = METRICS[name]
    sign = 1 if metric.higher_is_better else -1
    below = {baseline: each for baseline, each in below.items() if (values - each).isfinite().any()}
    under = {baseline: _interval(each, groups, chance) for baseline, each in below.items()}
    covered = {baseline: int((values - each).isfinite().sum()) for baseline, each in below.items()}
    whole = [
        baseline for baseline in under if covered[baseline] == max(covered.values())
    ]  # one of a few items proves nothing
    best = max(whole, key=lambda baseline: sign * under[baseline].mean, default="")
    advantage = _interval(sign * (values.double() - below[best].double()), groups, chance) if best else None
    if advantage is not None and metric.higher_is_better and _yes_or_no(values, groups):
        advantage = replace(advantage, p_value=_exact_p_value(values, below[best], best == "chance"))
    found = _interval(values, groups, chance)
    if metric.limit is not None and (exact := int((values >= metric.limit).sum())):
        notes.append(f"{exact:,} exact: infinitely many {metric.unit} count as {metric.limit:g}")
    if missing := int((~values.isfinite()).sum()):
        notes.append(f"{missing:,} of {len(values):,} items have no truth to be judged by")
    if found.count < FEWEST:
        notes.append(f"about {found.count} private images only: {FEWEST} at least are needed to beat a baseline")
    return Score(name, number, values, found, under, best, advantage, tuple(note for note in notes if note))


def _yes_or_no(values: Scores, groups: Int[Tensor, " n"]) -> bool:
    """Tell whether every image was either found or not, and each is there once; a tie for the first place is a half."""
    halves = values[values.isfinite()] * 2
    return bool(((halves == 0) | (halves == 1) | (halves == 2)).all()) and len(groups.unique()) == len(groups)


def _exact_p_value(values: Scores, baseline: Scores, known: bool) -> float:
    """Give the chance of as many hits at the baseline's rate, by the binomial law; ties are no hits.

    Student's test knows little of a few hits among many. A rate that is not known but seen gets one more hit.
    """
    both = (values - baseline).isfinite()
    count, hits = int(both.sum()), int((values[both] >= 1).sum())
    rate = float(baseline[both].double().mean()) if known else (float(baseline[both].double().sum()) + 1) / (count + 1)
    return float(bdtrc(hits - 1, count, min(rate, 1.0))) if hits else 1.0


def _interval(values: Scores, groups: Int[Tensor, " n"], chance: Randomness) -> Interval:
    """Bootstrap the mean of what could be judged."""
    known = values.isfinite()
    return interval(values[known], chance, groups[known])


def _empty(claim: Claim) -> bool:
    """Tell whether a claim has no items."""
    return any(isinstance(value, Tensor) and not len(value) for value in _parts(claim).values())


def _on_processor(claim: Claim) -> Claim:
    return replace(claim, **{name: value.cpu() for name, value in _parts(claim).items() if isinstance(value, Tensor)})


def _parts(claim: Claim) -> dict[str, Any]:
    return {field.name: getattr(claim, field.name) for field in fields(claim)}
