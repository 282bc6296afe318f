"""What to change where a scheme is broken or leaks: the worst attack is run again on each change, and measured."""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import torch

from hideseek.audit.findings.attacks import PlannedAttack, run_attack
from hideseek.audit.findings.verdicts import worst_first
from hideseek.audit.planning.clock import Clock
from hideseek.audit.question import Question
from hideseek.audit.threats import THREATS, given_to
from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records import Change, ChangeKind, Encoder
from hideseek.records.result import Advice, AttackResult, Failure, FailureKind, Figure, Outcome
from hideseek.seek import refusal, settings

FEWER = 2  # times fewer images, at most, that are left


def to_repair(results: Sequence[AttackResult]) -> AttackResult | None:
    """Give the attack that advice is about: of those that broke it, the weakest attacker's; else the worst leak."""
    ranked = worst_first(results)
    broke = [each for each in ranked if each.outcome is Outcome.BROKEN]
    if broke:
        names = [threat.name for threat in THREATS]
        return min(broke, key=lambda each: names.index(each.threat))
    return next((each for each in ranked if each.outcome is Outcome.LEAKS), None)


def advise(
    scheme: Encoder,
    worst: AttackResult,
    planned: PlannedAttack,
    question: Question,
    chance: Randomness,
    clock: Clock,
    seconds: float = math.inf,
    exposed: Collection[int] = (),
) -> tuple[Advice, ...]:
    """Run the worst attack again on each change, and say whether it is at its baseline then.

    The first change is measured in any case, another one where the `seconds` leave as many as the longest has taken.
    The last change is to leave out the most `exposed` images: others may be as exposed then (Carlini et al. 2022).
    """
    told: list[Advice] = []
    over, longest = clock.now() + seconds, 0.0
    changes = [(*each, question) for each in scheme.stronger(question.rounds)]
    for change, changed, rounds, asked in (*changes, *_without(exposed, scheme, question)):
        started = clock.now()
        if told and started + longest > over:
            told.append(Advice(change, worst.attack, None, failure=Failure(FailureKind.NO_TIME, seconds=longest)))
            continue
        try:
            told.append(_measured(change, changed, rounds, worst, planned, asked, chance, clock))
        except BadInput as reason:
            failure = Failure(FailureKind.REFUSED, str(reason))
            told.append(Advice(change, worst.attack, None, failure=failure))
        longest = max(longest, clock.now() - started)
    return tuple(told)


def _without(
    exposed: Collection[int], scheme: Encoder, question: Question
) -> Iterator[tuple[Change, Encoder, int, Question]]:
    """Give the same scheme of fewer images, unless too few would be left; of a patient all are left out."""
    count, records = len(question.private), question.private.records
    out = torch.isin(records, records[torch.tensor(sorted(exposed), dtype=torch.int64)])
    rest = (~out).nonzero()[:, 0]
    if exposed and len(rest) * FEWER >= count:
        change = Change(ChangeKind.LEAVE_OUT, "images", count, len(rest))
        yield change, scheme, question.rounds, replace(question, private=question.private.take(rest))


def _measured(
    change: Change,
    scheme: Encoder,
    rounds: int,
    worst: AttackResult,
    planned: PlannedAttack,
    question: Question,
    chance: Randomness,
    clock: Clock,
) -> Advice:
    """Attack what would be shared after a change; where the attack does not apply to it any more, say so."""
    release, secret = scheme.hide(question.private, question.public_for(scheme), chance, rounds)
    release, secret = question.seen(release, question.own), question.with_others(secret)
    refused = refusal(planned.attack, given_to(planned.attack, release, secret))
    if refused is not None:
        return Advice(change, worst.attack, None, refusal=refused)
    result = run_attack(planned, release, secret, (), chance, clock)
    before = clearest(worst)
    after = next((each for each in result.figures if before and _same(each, before)), None)
    if result.outcome not in (Outcome.BROKEN, Outcome.LEAKS, Outcome.RESISTED) or before is None or after is None:
        return Advice(change, worst.attack, None, failure=result.failure or Failure(FailureKind.NOTHING_JUDGED))
    resisted = result.outcome is Outcome.RESISTED
    if resisted and settings(planned.attack) != worst.settings:  # it may have resisted less time alone
        return Advice(change, worst.attack, None, failure=Failure(FailureKind.NO_TIME, seconds=worst.seconds))
    return Advice(
        change,
        worst.attack,
        resisted,
        metric=before.metric,
        unit=before.unit,
        before=before.found,
        after=after.found,
        baseline=after.baselines.get(after.best_baseline),
    )


def _same(one: Figure, other: Figure) -> bool:
    return (one.claim, one.number, one.metric) == (other.claim, other.number, other.metric)


def clearest(result: AttackResult) -> Figure | None:
    """Give the decisive figure that an attack beats its baseline by most clearly, in its own deviations."""

    def clarity(figure: Figure) -> float:
        advantage = figure.advantage
        return advantage.mean / max(advantage.high - advantage.low, 1e-9) if advantage else 0.0

    return max((each for each in result.figures if each.decisive and each.beats), key=clarity, default=None)
