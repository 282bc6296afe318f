"""One attack on one release: believed only after its proofs, stopped when its time is over, judged by the truth."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hideseek.audit.findings import unjudged
from hideseek.audit.findings.exhibits import exhibits
from hideseek.audit.findings.figures import conclusive, figures, harm, outcome_of
from hideseek.audit.planning.clock import Clock, OutOfTime
from hideseek.audit.threats import given_to, threat_of
from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records import Attack, Evidence, Refused, Release
from hideseek.records.result import AttackResult, Exhibit, Failure, FailureKind, Figure, Harm, Outcome, Proof
from hideseek.records.secret import Secret
from hideseek.score.claims import CLAIMS
from hideseek.score.exposure import most_exposed
from hideseek.score.judge import judge
from hideseek.seek import describe, run, settings

FOUND = (Outcome.BROKEN, Outcome.LEAKS)


@dataclasses.dataclass(frozen=True)
class PlannedAttack:
    """An attack by its name, the seconds after which it is stopped, and what its level is corrected for."""

    name: str
    attack: Attack[Any]
    allowed: float
    tests: int = 1
    """Attacks on all schemes of the audit together."""
    look: int = 0
    """How often it was run before."""
    left_out: tuple[str, ...] = ()
    """Metrics that there is no time for."""

    def result(self, release: Release, outcome: Outcome, **known: Any) -> AttackResult:
        """Give a result of this attack on a release; what is not known otherwise is empty."""
        threat = threat_of(self.attack)
        empty: dict[str, Any] = {"harm": Harm.NOTHING, "allowed": self.allowed, "seconds": 0.0, "memory": 0}
        return AttackResult(
            attack=self.name,
            summary=describe(self.attack),
            source=self.attack.source,
            threat=threat.name,
            contents=release.contents(),
            given=threat.gives,
            outcome=outcome,
            settings=settings(self.attack),
            alarm="" if outcome is Outcome.NOT_APPLICABLE else self.attack.alarm,
            **{**empty, **known},
        )


def run_and_judge(
    attack: Attack[Any],
    release: Release,
    secret: Secret,
    chance: Randomness,
    clock: Clock,
    *,
    allowed: float,
    tests: int = 1,
    look: int = 0,
    metrics: Sequence[str] | None = None,
    left_out: Sequence[str] = (),
) -> tuple[Evidence, tuple[Figure, ...]]:
    """Run an attack within some seconds of work, and score what it claims; `tests` is how many may err together."""
    evidence = _run(attack, release, chance, clock, allowed)
    return evidence, figures(judge(secret.judgeable(evidence), secret, chance, metrics, left_out), tests, look)


def _run(attack: Attack[Any], release: Release, chance: Randomness, clock: Clock, allowed: float) -> Evidence:
    started = clock.now()
    with clock.limit(allowed):
        evidence = run(attack, release, chance)
    return dataclasses.replace(evidence, seconds=clock.now() - started)


def run_attack(
    planned: PlannedAttack,
    release: Release,
    secret: Secret,
    proofs: tuple[Proof, ...],
    chance: Randomness,
    clock: Clock,
    pictures: Path | None = None,
    name: str = "",
) -> AttackResult:
    """Run an attack, and say what came of it: that it failed, or was stopped and so not tried, is a result too.

    Where `pictures` names a folder, what was found is drawn there, in files that begin with `name`.
    """
    given = given_to(planned.attack, release, secret)
    failed = next((proof.failure for proof in proofs if not proof.passed), None)
    if failed is not None and failed.kind is FailureKind.TIME_LIMIT:
        return planned.result(given, Outcome.NOT_TRIED, proofs=proofs, failure=failed)
    if not all(proof.passed for proof in proofs):
        return planned.result(given, Outcome.WITHHELD, proofs=proofs)
    limits: dict[str, Any] = {"allowed": planned.allowed, "tests": planned.tests, "look": planned.look}
    limits["left_out"] = planned.left_out
    try:
        evidence, found = run_and_judge(planned.attack, given, secret, chance, clock, **limits)
        left = unjudged.unjudged(evidence, secret)
        claims, judged = unjudged.claimed(left), secret.judgeable(evidence)
        exposed = most_exposed(judged, secret) if outcome_of(found) in FOUND and conclusive(found) else ()
        curves = tuple(curve for claim in judged.claims for curve in CLAIMS[claim.name].curves(claim, secret))
        drawn: tuple[Exhibit, ...] = ()
        if pictures is not None:
            drawn = exhibits(judged, given, secret, pictures, name)
            drawn += unjudged.guesses(left, given, pictures, f"{name}-unjudged")
    except OSError:  # a full disk is no fault of the attack
        raise
    except Exception as error:
        if isinstance(error.__cause__, OSError):
            raise
        outcome = Outcome.NOT_TRIED if isinstance(error, OutOfTime) else Outcome.FAILED
        return planned.result(given, outcome, proofs=proofs, failure=failure_of(error, planned.allowed))
    outcome, failure = outcome_of(found), None
    if not found and not secret.traced:
        outcome = unjudged.outcome_of(claims)
    elif not conclusive(found):
        outcome = Outcome.FAILED
        failure = Failure(FailureKind.TOO_FEW_IMAGES if found else FailureKind.NOTHING_JUDGED)
    return planned.result(
        given,
        outcome,
        harm=harm(found),
        failure=failure,
        seconds=evidence.seconds,
        memory=evidence.memory,
        figures=found,
        curves=curves,
        exhibits=drawn,
        proofs=proofs,
        remarks=_plain(evidence.remarks),
        exposed=exposed,
        claimed=claims,
    )


def failure_of(error: Exception, allowed: float) -> Failure:
    """Say why an attack failed.

    >>> failure_of(ValueError("shapes"), 5.0)
    Failure(kind=<FailureKind.ERROR: 'error'>, text='ValueError: shapes', seconds=None, refusal=None)
    """
    if isinstance(error, OutOfTime):
        return Failure(FailureKind.TIME_LIMIT, seconds=allowed)
    if isinstance(error, Refused):
        return Failure(FailureKind.REFUSED, refusal=error.refusal)
    if isinstance(error, BadInput):
        return Failure(FailureKind.REFUSED, str(error))
    return Failure(FailureKind.ERROR, f"{type(error).__name__}: {error}")


def _plain(remarks: Mapping[str, Any]) -> dict[str, Any]:
    """Give remarks as JSON can hold them: what is not a finite number becomes none."""
    told: dict[str, Any] = json.loads(json.dumps(dict(remarks), default=str), parse_constant=lambda _: None)
    return told
