"""The steps of an audit at work: each is done once, kept, timed, and told of; chance is fresh for each."""

import hashlib
from collections.abc import Callable
from dataclasses import replace

from hideseek.audit.belief.advice import advise
from hideseek.audit.belief.proofs import Belief, prove
from hideseek.audit.findings.attacks import PlannedAttack, run_attack
from hideseek.audit.planning.clock import Clock
from hideseek.audit.planning.plan import Plan, planned_task
from hideseek.audit.question import Question
from hideseek.audit.store import Part, PartKind, Store, path_name
from hideseek.audit.utility import TrainingPlan, measure, training_plan
from hideseek.chance import Randomness, secure, seeded
from hideseek.records import Encoder, MixingEncoder, Release
from hideseek.records.result import (
    Accuracy,
    Advice,
    AttackResult,
    Failure,
    FailureKind,
    Outcome,
    Proof,
    Stage,
    StepKey,
    StepKind,
)
from hideseek.records.secret import Secret
from hideseek.report import sentences

SAFELY = 0.6  # of the time that is left, for training: a busy machine takes longer than was measured
PATIENCE, GRACE = 2.0, 5.0  # times its share, and seconds, before an attack is stopped: then all its time is lost


class StepRunner:
    """One audit at work."""

    def __init__(
        self,
        question: Question,
        plan: Plan,
        store: Store,
        seed: int | None,
        clock: Clock,
        tell: Callable[[str], None],
    ) -> None:
        self.question, self.plan, self.store, self.seed = question, plan, store, seed
        self.clock, self.tell, self.started = clock, tell, clock.now()
        self.done: dict[StepKey, float] = {}
        self.ran: dict[StepKey, PlannedAttack] = {}
        self.todo = [step for step in plan.steps if not step.left_out]

    def training_plan(self) -> TrainingPlan | None:
        """Choose how long to train, once, from the time that is left: all schemes must be trained alike."""
        step, learning, part = (
            self.plan.step(StepKey(StepKind.ACCURACY)),
            self.question.learning,
            Part(PartKind.TRAINING),
        )
        if learning is None or (step is None and not self.store.has(part)):
            return None

        def affordable() -> float:
            assert step is not None  # noqa: S101 (else it is kept)
            seconds = min(step.full, max(step.scaled, SAFELY * self._left() - step.fixed))
            return max(1.0, self.plan.epochs * seconds / step.full)

        epochs = self.store.part(part, float, affordable)
        return training_plan(len(learning.train), self.question.rounds, epochs)

    def accuracy(self, name: str, scheme: MixingEncoder | None, how: TrainingPlan) -> Accuracy:
        """Train on what a scheme shares, or on the images themselves, and test."""
        learning, stream = self.question.learning, f"learn {name or 'vanilla'}"
        assert learning is not None  # noqa: S101 (there is a training plan)
        started, part = self.clock.now(), Part(PartKind.ACCURACY, name)
        found = self.store.part(part, Accuracy, lambda: measure(learning, scheme, how, self.chance(stream)))
        self._did(StepKey(StepKind.ACCURACY), started, sentences.trained(name, found))
        return found

    def hidden(self, name: str, scheme: Encoder) -> tuple[Release, Secret]:
        """Share the images as they would be shared, or take up what was shared before a pause."""
        question, folder, started = self.question, self.store.scheme_folder(name), self.clock.now()
        public, shared, truth = question.public_for(scheme), folder / "release", folder / "truth"
        if not (shared.is_dir() and truth.is_file()):
            self.store.clear(name)  # of a run that was killed between the two
            scheme.write(question.private, public, self.chance(f"hide {name}"), shared, truth, question.rounds)
        release, secret = scheme.read(shared, truth, public)
        self._did(StepKey(StepKind.HIDE, name), started, sentences.hidden(name, release.contents()))
        return replace(release, own=question.own), question.with_others(secret)

    def attack(self, name: str, attack: str, scheme: Encoder, release: Release, secret: Secret) -> AttackResult:
        """Run one attack after its proofs; say so where it does not apply or was left out."""
        key, part, started = (
            StepKey(StepKind.ATTACK, name, attack),
            Part(PartKind.RESULT, name, attack),
            self.clock.now(),
        )
        not_run = PlannedAttack(attack, self.question.attacks[attack], 0.0, 0)
        if (refused := self.plan.refused.get(key)) is not None:
            return not_run.result(release, Outcome.NOT_APPLICABLE, refusal=refused)
        if self.plan.step(key) is None and not self.store.has(part):
            least = next(step.smallest for step in self.plan.steps if step.key == key)
            return not_run.result(release, Outcome.FAILED, failure=Failure(FailureKind.NO_TIME, seconds=least))

        def result() -> AttackResult:
            belief = self._belief(attack, scheme)
            planned, chance = self._planned(name, attack, scheme, belief), self.chance(f"attack {name}/{attack}")
            self.ran[key] = planned
            pictures = f"{path_name(name)}/{path_name(attack)}"
            return run_attack(
                planned, release, secret, belief.proofs, chance, self.clock, self.store.pictures, pictures
            )

        found = self.store.part(part, AttackResult, result)
        if found.outcome is Outcome.FAILED or _unfinished(found.proofs):
            self.store.forget(part)  # to be tried again, perhaps with more time
        self._did(key, started, sentences.attacked(name, found, len(self.question.private)))
        return found

    def advice(self, name: str, scheme: Encoder, worst: AttackResult | None) -> tuple[Advice, ...]:
        """Measure what would help against the worst attack, where one broke the scheme and there is time."""
        key, part, started = StepKey(StepKind.ADVICE, name), Part(PartKind.ADVICE, name), self.clock.now()
        if worst is None or (self.plan.step(key) is None and not self.store.has(part)):
            return ()
        ran = self.ran.get(StepKey(StepKind.ATTACK, name, worst.attack))
        again = ran or self._planned(name, worst.attack, scheme, self._belief(worst.attack, scheme))
        told: tuple[Advice, ...] = self.store.part(
            part,
            tuple[Advice, ...],
            lambda: advise(scheme, worst, again, self.question, self.chance(f"change {name}"), self.clock),
        )
        self._did(key, started, sentences.step(key))
        return told

    def chance(self, name: str) -> Randomness:
        """Open a stream for one step: fresh keys, or, in a study, what belongs to the seed and the step's name."""
        if self.seed is None:
            return secure()
        return seeded(int.from_bytes(hashlib.sha256(f"audit {self.seed} {name}".encode()).digest()[:16], "little"))

    def stages(self) -> tuple[Stage, ...]:
        """Give what was planned, and what it took."""
        steps = self.plan.steps
        return tuple(Stage(step.key, step.expected, self.done.get(step.key), step.left_out) for step in steps)

    def _planned(self, name: str, attack: str, scheme: Encoder, belief: Belief) -> PlannedAttack:
        """Give an attack the settings that fit into its share of what is left, and when it is stopped.

        What a unit of its work takes was measured by its proofs; the plan knew only the machine.
        """
        key = StepKey(StepKind.ATTACK, name, attack)
        step = self.plan.step(key)
        waiting = sum(each.expected for each in self.todo if each.key not in self.done or each.key == key)
        seconds = 0.0 if step is None else step.scaled * max(0.0, self._left()) / max(waiting, 1e-9)
        chosen, task = self.question.attacks[attack], planned_task(scheme, self.question)
        fitted = chosen.within(seconds / (belief.unit or self.plan.unit), task)
        needed = (fitted.work(task) or 0.0) * (belief.unit or self.plan.unit)  # its least settings may take longer
        attacks = sum(StepKey(StepKind.ATTACK, name, each) not in self.plan.refused for each in self.question.attacks)
        return PlannedAttack(attack, fitted, PATIENCE * max(seconds, needed) + GRACE, attacks)

    def _left(self) -> float:
        """Tell how many seconds of the budget are left."""
        return self.question.budget - (self.clock.now() - self.started)

    def _belief(self, attack: str, scheme: Encoder) -> Belief:
        """Prove an attack, once for all schemes that have the same weak case."""
        part = Part(PartKind.PROOFS, scheme.weak_kind, attack)
        chance = self.chance(f"proof/{attack}-{scheme.weak_kind}")
        belief = self.store.part(
            part, Belief, lambda: prove(self.question.attacks[attack], scheme, self.question, chance, self.clock)
        )
        if _unfinished(belief.proofs):
            self.store.forget(part)
        return belief

    def _did(self, key: StepKey, started: float, text: str) -> None:
        """Note what a step took, and say that it is done."""
        took = self.clock.now() - started
        self.done[key] = self.done.get(key, 0.0) + took
        number = sum(step.key in self.done for step in self.todo)
        self.tell(f"[{number}/{len(self.todo)}] {text} ({took:.1f} s)")


def _unfinished(proofs: tuple[Proof, ...]) -> bool:
    """Tell whether a proof did not come to its end: when the audit goes on, it is tried again."""
    kinds = [proof.failure.kind for proof in proofs if proof.failure is not None and not proof.passed]
    return FailureKind.TIME_LIMIT in kinds or FailureKind.ERROR in kinds
