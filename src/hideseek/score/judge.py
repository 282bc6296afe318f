"""Judging evidence: every claim by every metric that fits it, beside baselines that ignore the release."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import torch
from jaxtyping import Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.errors import BadInput, no_such
from hideseek.records import Claim, Evidence
from hideseek.records.secret import Secret
from hideseek.score.against_baselines import CHANCE, compared
from hideseek.score.checks import check_finite
from hideseek.score.claim_rules import ClaimRules
from hideseek.score.claims import CLAIMS
from hideseek.score.judgement import Judgement, Score, Skipped, to_json
from hideseek.score.metric import Metric, Scores
from hideseek.score.metrics import by_name

__all__ = ["Judgement", "Score", "Skipped", "judge", "rules_of", "to_json"]

VERSION = (
    3  # of baselines, metrics and tests: raise it when a change of them moves figures, and studies mark older ones
)
EMPTY = "the attack claims nothing: there is nothing to score."
NO_TIME = "there is no time for it."


def judge(
    evidence: Evidence,
    secret: Secret,
    chance: Randomness,
    metrics: Sequence[str] | None = None,
    left_out: Sequence[str] = (),
) -> Judgement:
    """Score every claim by these metrics, or by all that fit it, with baselines and intervals.

    Intervals are bootstrapped over private images, or over patients where they are known: items about the same one are
    drawn, and tested, together. Unless asked for by name, a metric that would take very long, or fetch hundreds of
    megabytes first, is left out; those that are `left_out` there is no time for. Baselines and intervals of a metric do
    not depend on which others are asked for.
    """
    known = by_name(CLAIMS.values())
    for name in metrics or ():
        if name not in known:
            raise no_such("metric", name, known)
    claims = [_on_processor(claim) for claim in evidence.claims]
    for claim in claims:
        check_finite(claim)
        rules_of(claim).check(claim, secret)
    found: list[Score | Skipped] = list(_without_a_claim(claims, metrics or ()))
    for number, (claim, stream) in enumerate(zip(claims, chance.spawn(len(claims)), strict=True)):
        found += _judge(number, claim, secret, stream, metrics or (), left_out)
    scores = tuple(each for each in found if isinstance(each, Score))
    skipped = dict.fromkeys(each for each in found if isinstance(each, Skipped))
    return Judgement(scores, tuple(skipped))


def rules_of(claim: Claim) -> ClaimRules:
    """Give the rules of a claim; one that has none is refused."""
    if claim.name not in CLAIMS:
        raise BadInput(f"claims of the kind {claim.name!r} cannot be judged: add their rules to CLAIMS.")
    return CLAIMS[claim.name]


def _without_a_claim(claims: Sequence[Claim], metrics: Sequence[str]) -> Iterator[Skipped]:
    """Say which metrics have nothing to judge."""
    made = {claim.name for claim in claims}
    for name in metrics:
        kind = next(kind for kind, rules in CLAIMS.items() if name in rules.metrics)
        if kind not in made:
            yield Skipped(name, f"it is for claims of the kind {kind}, and the attack makes none.")


def _judge(
    number: int, claim: Claim, secret: Secret, chance: Randomness, named: Sequence[str], left_out: Sequence[str]
) -> Iterator[Score | Skipped]:
    """Score one claim by the metrics that were named, or by all of its kind."""
    rules, known = rules_of(claim), by_name(CLAIMS.values())
    for_baselines, for_metrics = chance.spawn(2)
    streams = dict(zip(known, for_metrics.spawn(len(known)), strict=True))
    unnamed = {} if named else _unnamed(rules, claim, secret, left_out)
    yield from unnamed.values()
    metrics = {name: known[name] for name in named or known if name in rules.metrics and name not in unnamed}
    if _empty(claim):
        yield from (Skipped(name, EMPTY) for name in metrics)
        return
    prepared = rules.prepare(claim, secret)
    tried = {name: _values(name, metric, prepared, secret) for name, metric in metrics.items()}
    yield from (each for each in tried.values() if isinstance(each, Skipped))
    values = {name: each for name, each in tried.items() if not isinstance(each, Skipped)}
    below = _below(rules, prepared, secret, for_baselines, {name: metrics[name] for name in values})
    for name, each in values.items():
        metric = metrics[name]
        groups = _units(metric.groups(prepared, secret), secret)
        note = None if metric.note is None else metric.note(prepared, secret)
        for_test, for_intervals = streams[name].spawn(2)
        tested = None if metric.test is None else metric.test(prepared, secret, for_test)
        yield compared((name, claim.name, number), metric, each, below[name], groups, note, tested, for_intervals)


def _units(images: Int[Tensor, " n"], secret: Secret) -> Int[Tensor, " n"]:
    """Give what rises and falls together: private images, or the patients whose they are."""
    if secret.private.patients is None:
        return images
    return torch.where(images >= 0, secret.private.records[images.clamp(min=0).long()], images.long())


def _unnamed(rules: ClaimRules, claim: Claim, secret: Secret, left_out: Sequence[str]) -> dict[str, Skipped]:
    """Leave out what nobody should have to wait for without having asked for it, or has no time for."""
    reasons = {
        name: metric.skip_unless_named(claim, secret)
        for name, metric in rules.metrics.items()
        if metric.skip_unless_named is not None
    } | {name: NO_TIME for name in left_out if name in rules.metrics}
    return {name: Skipped(name, reason) for name, reason in reasons.items() if reason}


def _values(name: str, metric: Metric, claim: Claim, secret: Secret) -> Scores | Skipped:
    """Score a claim by a metric, or say why not."""
    try:
        values = metric.score(claim, secret)
    except BadInput as reason:
        return Skipped(name, str(reason))
    return values if values.isfinite().any() else Skipped(name, "there is nothing to judge any of its items by.")


def _below(
    rules: ClaimRules, claim: Claim, secret: Secret, chance: Randomness, metrics: Mapping[str, Metric]
) -> dict[str, dict[str, Scores]]:
    """Score the baselines by every metric; each before the next one is made, since they are as large as the claim."""
    scored = [
        (
            baseline.name,
            {
                name: metric.score(baseline.claim, secret)
                for name, metric in metrics.items()
                if metric.chance is None or not baseline.drawn
            },
        )
        for baseline in rules.baselines(claim, secret, chance)
    ]
    return {
        name: {baseline: scores[name] for baseline, scores in scored if name in scores}
        | ({} if metric.chance is None else {CHANCE: metric.chance(claim, secret)})
        for name, metric in metrics.items()
    }


def _empty(claim: Claim) -> bool:
    """Tell whether a claim has no items."""
    return any(isinstance(value, Tensor) and not len(value) for value in claim.parts().values())


def _on_processor(claim: Claim) -> Claim:
    return replace(claim, **{name: value.cpu() for name, value in claim.parts().items() if isinstance(value, Tensor)})
