"""What comes next in an audit: the forecast is revised after every step, and time that is left is used."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from hideseek.audit.belief.advice import to_repair
from hideseek.audit.findings.looks import RAN, Look, best, may_gain
from hideseek.audit.planning.budget import OVERRUN, QUARTER, Step, allocate
from hideseek.audit.planning.clock import Clock
from hideseek.audit.planning.plan import Plan, changes, planned_task, proof_of, proved_once
from hideseek.audit.question import Question
from hideseek.records.result import AttackResult, Outcome, StepKey, StepKind

RAISE = 2.0  # times the work of the last look is the least that another one is worth
EARLY = 10.0  # seconds before which nobody knows how busy the machine is


class Schedule:
    """Which steps are done, what they took, and which one is next."""

    def __init__(self, question: Question, plan: Plan, clock: Clock) -> None:
        self.question, self.plan, self.clock = question, plan, clock
        self.began_work, self.began = clock.now(), clock.wall()
        clock.deadline = self.began + plan.wall_limit
        self.earlier = 0.0
        """Seconds that were worked before a pause."""
        self.took: dict[StepKey, float] = {}
        self.finished: set[StepKey] = set()
        self.looks: dict[StepKey, list[Look]] = {}
        self.stopped: dict[StepKey, AttackResult] = {}
        """What is said of attacks that were stopped and have not come to an end since."""
        self.final: set[StepKey] = set()
        """Attacks whose settings cannot be raised any further."""
        self.units: dict[tuple[str, str], float | None] = {}
        """Of proofs that are done: seconds of a unit of the attack's work, where that was measured."""
        self.advised: dict[str, str] = {}
        """For each scheme, the attack that there is advice against."""

    def next(self) -> Step | None:
        """Give the next step, with its share of the time that is left; None at the end."""
        for step in self._allocated():
            if not step.left_out and (step.key.kind is not StepKind.ADVICE or self.unadvised(step.key.scheme)):
                return step
        return None

    def share(self, key: StepKey) -> Step | None:
        """Give a step that is not done with its share of the time that is left now; None where none is left."""
        return next((step for step in self._allocated() if step.key == key and not step.left_out), None)

    def looked(self, key: StepKey, look: Look) -> None:
        """Note a look of an attack."""
        self.looks.setdefault(key, []).append(look)
        self.finished.add(key)

    def worked(self) -> float:
        """Tell how many seconds this audit has worked."""
        return self.earlier + self.clock.now() - self.began_work

    def passed(self) -> float:
        """Tell how many seconds have passed since it began, or went on after a pause."""
        return self.clock.wall() - self.began

    def left(self) -> float:
        """Tell how many seconds of work are left: of the budget, or until the audit is stopped if that comes first."""
        return min(self.plan.budget - self.worked(), self._until_stopped())

    def over(self) -> bool:
        """Tell whether attacks are stopped, since the machine is busy with other things."""
        return self.clock.wall() >= self.clock.deadline

    def time_left(self) -> float:
        """Forecast how long the audit lasts from now on, by the time."""
        expected = sum(step.expected for step in self._allocated())
        return self._slowness() * max(0.0, min(self.left(), expected))

    def spare(self, key: StepKey) -> float:
        """Tell how many seconds are left beside what the strongest attacks take, and what is done in any case."""
        others = [step for step in self._waiting() if (step.must or step.strongest) and step.key != key]
        return self.left() - sum(step.smallest for step in others)

    def unit(self, key: StepKey) -> float:
        """Give the seconds of a unit of work: of the attack's last look, of its proofs, or of the machine."""
        looks = self.looks.get(key)
        if looks and looks[-1].work:
            return looks[-1].result.seconds / looks[-1].work or self.plan.unit
        return self.units.get(proof_of(key, self.question)) or self.plan.unit

    def results(self, scheme: str) -> list[AttackResult]:
        """Give what attacks on a scheme came to so far."""
        return [best(looks).result for key, looks in self.looks.items() if key.scheme == scheme and looks]

    def unadvised(self, scheme: str) -> AttackResult | None:
        """Give the attack on a scheme to give advice against, unless there is some."""
        worst = to_repair(self.results(scheme))
        return None if worst is None or self.advised.get(scheme) == worst.attack else worst

    def _until_stopped(self) -> float:
        """Tell how many seconds of work there are until the audit is stopped, however busy the machine is."""
        return (self.clock.deadline - self.clock.wall()) / self._slowness()

    def _slowness(self) -> float:
        """Tell how many seconds pass for a second of work."""
        return max(1.0, (self.passed() + EARLY) / (self.clock.now() - self.began_work + EARLY))

    def _allocated(self) -> tuple[Step, ...]:
        budget, left = self.plan.budget, self.left()
        overrun = max(0.0, min(OVERRUN * budget, self._until_stopped() - left))
        return allocate(list(self._waiting()), left, QUARTER * budget, overrun)

    def _waiting(self) -> Iterator[Step]:
        """Give the steps that are left, at what they are expected to take now; looks that raise settings come last."""
        waiting = [step for step in self.plan.steps if step.key not in self.finished]
        attacks = [step for step in waiting if step.key.kind is StepKind.ATTACK]
        if self.over():
            yield from (step for step in waiting if step.key.kind in (StepKind.HIDE, StepKind.ACCURACY))
            return
        yield from (step for step in waiting if step.key.kind is StepKind.HIDE)
        revised = [self._revised(step) for step in proved_once(attacks, self.question, list(self.units))]
        yield from (step for step in revised if not step.again)
        yield from (step for step in waiting if step.key.kind is StepKind.ACCURACY)
        yield from (self._advice(step) for step in waiting if step.key.kind is StepKind.ADVICE and self._open(step))
        yield from (step for step in revised if step.again)
        yield from self._raised()

    def _revised(self, step: Step) -> Step:
        """Expect of an attack what its proofs measured; one that was stopped takes more than it was given."""
        slower = self.unit(step.key) / self.plan.unit
        revised = replace(
            step,
            proof=self._proving() * step.proof,
            fixed=self._judging() * step.fixed,
            least=slower * step.least,
            full=slower * step.full,
        )
        stopped = self.stopped.get(step.key)
        if stopped is None:
            return revised
        least = max(revised.least, RAISE * stopped.allowed)
        return replace(revised, must=False, strongest=False, again=True, least=least, full=max(revised.full, least))

    def _proving(self) -> float:
        """Tell how many times what was expected proofs have taken so far; one that fails at once says nothing."""
        return _times(
            (step.proof, look.proving)
            for step, look in self._first_looks()
            if look.proving and all(proof.passed for proof in look.result.proofs)
        )

    def _judging(self) -> float:
        """Tell how many times what was expected judging has taken so far; what is withheld is not judged."""
        return _times((step.fixed, look.judging) for step, look in self._first_looks() if look.result.outcome in RAN)

    def _first_looks(self) -> Iterator[tuple[Step, Look]]:
        for step in self.plan.steps:
            yield from ((step, look) for look in self.looks.get(step.key, [])[:1])

    def _open(self, step: Step) -> bool:
        """Tell whether advice is wanted, or may be."""
        return not self.results(step.key.scheme) or self.unadvised(step.key.scheme) is not None

    def _advice(self, step: Step) -> Step:
        worst = self.unadvised(step.key.scheme)
        if worst is None:
            return step
        look = best(self.looks[StepKey(StepKind.ATTACK, step.key.scheme, worst.attack)])
        count = changes(self.question.schemes[step.key.scheme], self.question)
        seconds, hiding = count * worst.seconds, self.took.get(StepKey(StepKind.HIDE, step.key.scheme), 0.0)
        return replace(step, fixed=count * (look.judging + hiding), least=seconds, full=seconds)

    def _raised(self) -> list[Step]:
        """Give a look with more work to attacks that could find more, first where the question is open."""
        raised = []
        for step in self.plan.steps:
            key, attack = step.key, self.question.attacks.get(step.key.attack)
            looks = self.looks.get(key)
            if attack is None or not looks or key not in self.finished or not may_gain(attack, looks):
                continue
            last, work = looks[-1], attack.work(planned_task(self.question.schemes[key.scheme], self.question))
            if not last.work or work is None or key in self.final:
                continue
            full, least = work * self.unit(key), RAISE * last.work * self.unit(key)
            raised.append(Step(key, last.judging, min(least, full), full, again=True))
        return sorted(raised, key=lambda step: self._broken(step.key.scheme))

    def _broken(self, scheme: str) -> bool:
        return any(result.outcome is Outcome.BROKEN for result in self.results(scheme))


def _times(pairs: Iterable[tuple[float, float]]) -> float:
    """Tell how many times the seconds that were expected, first of each pair, it took.

    >>> _times([(2.0, 3.0), (4.0, 6.0)]), _times([])
    (1.5, 1.0)
    """
    expected, took = (sum(each) for each in zip((0.0, 0.0), *pairs, strict=True))
    return took / expected if expected else 1.0
