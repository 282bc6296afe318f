"""Allocating the time of an audit to its steps."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hideseek.errors import BadInput
from hideseek.records.result import StepKey, StepKind
from hideseek.report.sentences import duration

QUARTER = 0.25  # of the budget, for training, where attacks could use all of it


@dataclass(frozen=True)
class Step:
    """A step of the audit, in seconds of this machine; what may be scaled lies between `least` and `full`."""

    key: StepKey
    fixed: float = 0.0
    least: float = 0.0
    full: float = 0.0
    share: float = 1.0
    """Of what lies between least and full."""
    left_out: bool = False

    @property
    def scaled(self) -> float:
        """Seconds for the part that may be scaled."""
        return self.least + self.share * (self.full - self.least)

    @property
    def expected(self) -> float:
        """Seconds in all."""
        return 0.0 if self.left_out else self.fixed + self.scaled

    @property
    def smallest(self) -> float:
        """Seconds that it takes at least."""
        return self.fixed + self.least


def allocate(steps: Sequence[Step], budget: float) -> tuple[Step, ...]:
    """Give every attack as much time as any other may have, so that all fit the budget: none is cut that needs less.

    Where even the least is too much, the costliest steps are left out, one after another. Training takes what attacks
    leave, or a quarter of the budget where they leave less: what leaks is the first question.

    >>> def attack(name, *seconds): return Step(StepKey(StepKind.ATTACK, "a", name), *seconds)
    >>> [round(step.expected) for step in allocate([attack("x", 1, 1, 2), attack("y", 1, 1, 90)], 10)]
    [3, 7]
    >>> [step.left_out for step in allocate([attack("x", 1, 1, 5), attack("y", 1, 5, 9)], 4)]
    [False, True]
    """
    kept = list(steps)
    while sum(step.smallest for step in kept) > budget:
        optional = [step for step in kept if step.key.kind is not StepKind.HIDE]
        if not optional:
            break
        kept.remove(max(optional, key=lambda step: step.smallest))
    if not any(step.key.kind is StepKind.ATTACK for step in kept):
        _refuse(steps, budget)
    spare = max(0.0, budget - sum(step.smallest for step in kept))
    trainings = [step for step in kept if step.key.kind is StepKind.ACCURACY]
    others = [step for step in kept if step.key.kind is not StepKind.ACCURACY]
    training = sum(step.full - step.least for step in trainings)
    to_train = min(training, spare, max(spare - sum(step.full - step.least for step in others), QUARTER * budget))
    cap = _cap(others, spare - to_train)
    keys = {step.key for step in kept}

    def share(step: Step) -> float:
        if step.key.kind is StepKind.ACCURACY:
            return _ratio(to_train, training)
        return _ratio(min(step.full, max(step.least, cap)) - step.least, step.full - step.least)

    return tuple(replace(step, share=share(step), left_out=step.key not in keys) for step in steps)


def _cap(steps: Sequence[Step], spare: float) -> float:
    """Find the seconds that no step may exceed, its least apart, so that all together take what is to spare."""
    low, high = 0.0, max((step.full for step in steps), default=0.0)
    for _ in range(60):
        middle = (low + high) / 2
        more = sum(min(step.full, max(step.least, middle)) - step.least for step in steps)
        low, high = (middle, high) if more <= spare else (low, middle)
    return high if sum(step.full - step.least for step in steps) <= spare else low


def _ratio(given: float, wanted: float) -> float:
    return min(1.0, given / wanted) if wanted else 1.0


def _refuse(steps: Sequence[Step], budget: float) -> None:
    """Say the least that works: hiding, and the cheapest attack; nothing where no attack applies anyway."""
    attacks = [step.smallest for step in steps if step.key.kind is StepKind.ATTACK]
    if attacks:
        needed = sum(step.fixed for step in steps if step.key.kind is StepKind.HIDE) + min(attacks)
        raise BadInput(
            f"a budget of {duration(budget)} is too small for anything: the least that works is"
            f" {duration(1.1 * needed)}; give a larger budget, or fewer images."
        )
