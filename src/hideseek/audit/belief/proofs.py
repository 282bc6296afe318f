"""Whether an attack can be believed: it must break a weak case that was made for it, and be at chance on noise."""

from dataclasses import dataclass
from typing import Any

from hideseek.audit.findings.attacks import failure_of, run_and_judge
from hideseek.audit.findings.figures import broke, decisive_metrics
from hideseek.audit.planning.clock import Clock
from hideseek.audit.question import Question
from hideseek.audit.threats import given_to
from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records import Attack, Encoder, Evidence, Release, Samples, Task
from hideseek.records.gallery import anonymous
from hideseek.records.result import Failure, FailureKind, Proof, WeakCase
from hideseek.records.secret import Secret
from hideseek.seek import refusal
from hideseek.seek.run import NotFinite

PUBLIC, OWN = 300, 2000  # images of a weak case besides the private ones
WORK = 3e11  # multiplications that an attack may take for each of its proofs: some seconds
LONGEST, LONGEST_SHARE = 90.0, 0.25  # seconds, or of the budget, after which a proof is given up
SHORT_WAY = 5.0  # times slower on noise than on its weak case is an attack that found a short way in the latter
STRICT = 5  # times less often than a verdict may a proof on noise err: it would withhold a good attack


@dataclass(frozen=True)
class Belief:
    """The proofs of an attack, and how many seconds a unit of its work takes here, where that was measured."""

    proofs: tuple[Proof, ...]
    unit: float | None = None


def longest_proof(question: Question) -> float:
    """Tell after how many seconds a proof is given up: costly attacks are proved where there is time for them."""
    return max(LONGEST, LONGEST_SHARE * question.budget)


def prove(attack: Attack[Any], scheme: Encoder, question: Question, chance: Randomness, clock: Clock) -> Belief:
    """Try an attack on a weak case made of some of the private images, and on noise in its place.

    The weak case has the rounds that are audited, and the mask that the scheme has: an attack that takes more rounds
    than there are, or rows without a mask, would be believed for what it cannot do here.
    """
    trial = scheme.trial(question.private)
    images = _some(question.private, trial.images, chance)
    public = question.public_for(scheme)
    public = None if public is None else _some(public, PUBLIC, chance)
    own = None if question.own is None else _some(question.own, OWN, chance)
    belief = Belief((Proof("weak case", passed=False, failure=Failure(FailureKind.NO_WEAK_CASE)),))
    rounds, allowed = min(question.rounds, trial.rounds), longest_proof(question)

    def shared(weak: Encoder, rounds: int) -> tuple[Release, Secret]:
        release, secret = weak.hide(images, public, chance, rounds)
        secret = question.with_others(secret)
        return given_to(attack, question.seen(release, own), secret), secret

    for weak in scheme.weak_cases(images, chance):
        given, secret = shared(weak, rounds)
        if refusal(attack, given) is None:
            case = WeakCase(weak.mechanism, len(secret.private), rounds)
            belief = _on_weak_case(attack, case, given, secret, chance, clock, allowed)
            if belief.proofs[0].passed:
                longer = shared(weak, trial.noise_rounds) if rounds < trial.noise_rounds else (given, secret)
                noise, unit = _on_noise(attack, *longer, chance, clock, allowed)
                return Belief((*belief.proofs, noise), _likely(belief.unit, unit))
    return belief


def proof_size(scheme: Encoder, question: Question) -> Task:
    """Tell how large a weak case is at most, for planning."""
    public, own, trial = question.public_for(scheme), question.own, scheme.trial(question.private)
    return scheme.weak_size(
        question.private.take(slice(0, trial.images)),
        None if public is None else question.known_of(public.take(slice(0, PUBLIC))),
        None if own is None else own.take(slice(0, OWN)),
        max(trial.noise_rounds, min(question.rounds, trial.rounds)),
    )


def _on_weak_case(
    attack: Attack[Any],
    case: WeakCase,
    release: Release,
    secret: Secret,
    chance: Randomness,
    clock: Clock,
    allowed: float,
) -> Belief:
    """Run an attack on a weak case; its time there tells what a unit of its work takes."""
    fitted = attack.within(WORK, release.size())
    try:
        evidence, found = run_and_judge(
            fitted, release, secret, chance, clock, allowed=allowed, metrics=decisive_metrics()
        )
    except Exception as error:  # noqa: BLE001 (whatever an attack raises, it is not proved)
        return Belief((Proof("weak case", passed=False, case=case, failure=failure_of(error, allowed)),))
    return Belief((Proof("weak case", broke(found), case, found),), _unit(fitted, release, evidence))


def _likely(on_weak_case: float | None, on_noise: float | None) -> float | None:
    """Expect what a unit of work takes from two runs.

    The shorter counts, since the machine may have been busy; but an attack that was many times faster on its weak case
    had a short way there, which what is audited need not have.
    """
    if on_weak_case is None or on_noise is None:
        return on_noise if on_weak_case is None else on_weak_case
    return on_noise if on_noise > SHORT_WAY * on_weak_case else min(on_weak_case, on_noise)


def _unit(attack: Attack[Any], release: Release, evidence: Evidence) -> float | None:
    """Give the seconds of a unit of work."""
    work = attack.work(release.size())
    return evidence.seconds / work if work else None


def _on_noise(
    attack: Attack[Any], release: Release, secret: Secret, chance: Randomness, clock: Clock, allowed: float
) -> tuple[Proof, float | None]:
    """Put noise in the place of what was shared: all that an attack then finds, it did not find in the images."""
    fitted = attack.within(WORK, release.size())
    limits: dict[str, Any] = {"allowed": allowed, "tests": STRICT, "metrics": decisive_metrics()}
    try:
        evidence, found = run_and_judge(fitted, release.as_noise(chance), secret, chance, clock, **limits)
    except NotFinite as error:
        return Proof("noise", passed=False, failure=failure_of(error, allowed)), None
    except BadInput as reason:  # it finds nothing that could be scored, as it should
        return Proof("noise", passed=True, failure=failure_of(reason, allowed)), None
    except Exception as error:  # noqa: BLE001 (whatever an attack raises, it is not proved)
        return Proof("noise", passed=False, failure=failure_of(error, allowed)), None
    return Proof("noise", not broke(found), figures=found), _unit(fitted, release, evidence)


def _some(samples: Samples, count: int, chance: Randomness) -> Samples:
    """Draw images, each a record of its own: a proof is of the attack, and some images may be of too few patients."""
    return anonymous(samples).take(chance.permutation(len(samples))[:count].sort().values)
