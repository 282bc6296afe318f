"""Allocating the time that is left of an audit to the steps that are left."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hideseek.records.result import StepKey, StepKind

QUARTER = 0.25  # of the budget, for training, where attacks could use all of it
OVERRUN = 0.5  # of the budget, that attacks which can show the worst may take beyond it


@dataclass(frozen=True)
class Step:
    """A step of the audit, in seconds of work on this machine; what may be scaled lies between `least` and `full`."""

    key: StepKey
    fixed: float = 0.0
    least: float = 0.0
    full: float = 0.0
    must: bool = False
    """Whether it is taken in any case, with its least settings where there is no time for more."""
    strongest: bool = False
    """Whether it is an attack that can show the worst that its attacker can: it may go beyond the budget, some way."""
    again: bool = False
    """Whether it is the second look of an attack, or a later one."""
    proof: float = 0.0
    """Seconds of the proofs of its attack, where these are not done yet."""
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
        return 0.0 if self.left_out else self.proof + self.fixed + self.scaled

    @property
    def smallest(self) -> float:
        """Seconds that it takes at least."""
        return self.proof + self.fixed + self.least


def allocate(steps: Sequence[Step], left: float, reserve: float = 0.0, overrun: float = 0.0) -> tuple[Step, ...]:
    """Give every attack as much of the time left as any other may have: none is cut that needs less.

    Where even the least is too much, what need not be is left out: later looks first, then the costliest, one after
    another; of the strongest attacks, those that do not fit into the `overrun` either. Training takes what attacks
    leave, or the `reserve` where they leave less: what leaks is the first question.

    >>> def attack(name, *seconds): return Step(StepKey(StepKind.ATTACK, "a", name), *seconds)
    >>> [round(step.expected) for step in allocate([attack("x", 1, 1, 2), attack("y", 1, 1, 90)], 10)]
    [3, 7]
    >>> [step.left_out for step in allocate([attack("x", 1, 1, 5), attack("y", 1, 5, 9)], 4)]
    [False, True]
    """
    training = sum(step.full - step.least for step in steps if step.key.kind is StepKind.ACCURACY)
    kept = _fitting(list(steps), left, min(training, reserve), overrun)
    least = sum(step.smallest for step in kept)
    spare, reserved = max(0.0, left - least), max(0.0, min(reserve, left + overrun - least))
    others = [step for step in kept if step.key.kind is not StepKind.ACCURACY]
    to_train = min(training, max(spare - sum(step.full - step.least for step in others), reserved))
    cap = _cap(others, spare - to_train)
    keys = {step.key for step in kept}

    def share(step: Step) -> float:
        if step.key.kind is StepKind.ACCURACY:
            return _ratio(to_train, training)
        return _ratio(min(step.full, max(step.least, cap)) - step.least, step.full - step.least)

    return tuple(replace(step, share=share(step), left_out=step.key not in keys) for step in steps)


def _fitting(kept: list[Step], left: float, to_train: float, overrun: float) -> list[Step]:
    """Leave out what does not fit beside training, even with its least settings."""
    for strongest, limit in ((False, left), (True, left + overrun)):
        while sum(step.smallest for step in kept) + to_train > limit:
            optional = [step for step in kept if not step.must and step.strongest <= strongest]
            if not optional:
                break
            kept.remove(max(optional, key=lambda step: (step.again, step.smallest)))
    return kept


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
