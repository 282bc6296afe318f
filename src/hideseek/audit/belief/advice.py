"""What to change where a scheme is broken: the attack that did most harm is run again on each change, and measured."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hideseek.audit.findings.attacks import PlannedAttack, run_attack
from hideseek.audit.known import inner
from hideseek.audit.question import Question
from hideseek.audit.threats import seen_by, threat_of
from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.hide import Augmented, Laplace, SingularizedMixup
from hideseek.records import MixingEncoder
from hideseek.records.result import Advice, AttackResult, Figure

LESS = 100.0  # times less signal
QUIET = SingularizedMixup(tau=1e-4)
COST = (  # of QUIET, and where it was measured
    "on features of MNIST such noise left 21.6 of 96.8 % accuracy, of CIFAR-10 12.3 of 85.3 %"
    " (studies/results/singularized-cpu.md)"
)


@dataclass(frozen=True)
class _Change:
    words: str
    scheme: MixingEncoder
    rounds: int
    remark: str = ""


def _changes(scheme: MixingEncoder, rounds: int) -> Iterator[_Change]:
    """Give what could be changed: fewer rounds, more noise, another scheme."""
    if rounds > 1:
        yield _Change(f"fewer rounds: 1 instead of {rounds}", scheme, 1)
    mixing = inner(scheme)
    if isinstance(mixing, SingularizedMixup):
        if mixing.radius is None:
            louder, words = replace(mixing, tau=mixing.tau / LESS), f"τ = {mixing.tau / LESS:g}"
        else:
            radius = mixing.radius * LESS**0.5
            louder, words = replace(mixing, radius=radius), f"r = {radius:.3g}"
        yield _Change(f"more noise: {words}", _moved_like(scheme, louder), rounds, "it costs accuracy")
    elif isinstance(mixing, Laplace):
        alpha = (1 + mixing.alpha) / 2
        noisier = _moved_like(scheme, replace(mixing, alpha=alpha, scale=None))
        yield _Change(f"more noise: α = {alpha:g}", noisier, rounds, "it costs accuracy")
    else:
        yield _Change(f"another scheme: singularized-mixup at τ = {QUIET.tau:g}", QUIET, rounds, COST)


def _moved_like(scheme: MixingEncoder, changed: MixingEncoder) -> MixingEncoder:
    """Move images before they are mixed as the scheme did, if it did."""
    return replace(scheme, scheme=changed) if isinstance(scheme, Augmented) else changed


def advise(
    scheme: MixingEncoder, worst: AttackResult, asked: PlannedAttack, question: Question, chance: Randomness
) -> tuple[Advice, ...]:
    """Run the worst attack again on each change, and say whether it is at its baseline then."""
    told = []
    for change in _changes(scheme, question.rounds):
        try:
            tried = _again(change, asked, question, chance)
        except BadInput as reason:
            told.append(Advice(change.words, f"It could not be measured: {reason}", None, worst.attack))
            continue
        told.append(_told(change, worst, tried))
    return tuple(told)


def _again(change: _Change, asked: PlannedAttack, question: Question, chance: Randomness) -> AttackResult:
    """Attack what would be shared after a change; where the attack does not apply to it any more, say so."""
    release, secret = change.scheme.hide(question.private, question.mixed_in(change.scheme), chance, change.rounds)
    given = seen_by(threat_of(asked.attack), replace(release, own=question.own), secret)
    if reason := asked.attack.refuses(given):
        return replace(asked.blank(given), outcome="not applicable", sentence=reason)
    return run_attack(asked, replace(release, own=question.own), secret, (), chance)


def _told(change: _Change, worst: AttackResult, tried: AttackResult) -> Advice:
    if tried.outcome == "not applicable":
        said = f"{worst.attack} does not apply then, others may: {tried.sentence}"
        return Advice(change.words, said, None, worst.attack)
    if tried.outcome not in ("broken", "resisted"):
        return Advice(change.words, f"It could not be measured: {tried.sentence}", None, worst.attack)
    before = telling(worst)
    after = next((each for each in tried.figures if before and each.metric == before.metric), None)
    if before is None or after is None:
        return Advice(change.words, "It could not be measured.", None, worst.attack)
    helps = tried.outcome == "resisted"
    said = (
        f"{worst.attack} is not shown to beat its baseline then"
        if helps
        else f"not enough: {worst.attack} still beats its baseline"
    )
    return Advice(
        change.words,
        f"{said}{f'; {change.remark}' if change.remark else ''}.",
        helps,
        worst.attack,
        before.metric,
        before.found,
        after.found,
        after.baselines.get(after.best_baseline),
    )


def telling(tried: AttackResult) -> Figure | None:
    """Give the decisive figure that an attack beats its baseline by most surely, in its own deviations."""
    beating = [figure for figure in tried.figures if figure.decisive and figure.beats and figure.advantage]

    def surely(figure: Figure) -> float:
        assert figure.advantage is not None  # noqa: S101 (chosen so)
        return figure.advantage.mean / max(figure.advantage.high - figure.advantage.low, 1e-9)

    return max(beating, key=surely, default=None)
