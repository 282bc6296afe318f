"""The steps of an audit at work: each is done once, kept, timed, and told of; chance is fresh for each."""

import hashlib
from collections.abc import Callable
from typing import Any

from hideseek.audit.belief.advice import advise
from hideseek.audit.belief.proofs import Belief, prove
from hideseek.audit.findings.attacks import PlannedAttack, run_attack
from hideseek.audit.findings.looks import Look, best
from hideseek.audit.planning.budget import Step
from hideseek.audit.planning.clock import Clock
from hideseek.audit.planning.plan import Plan, planned_task, proof_of
from hideseek.audit.planning.time_spent import TimeSpent, now
from hideseek.audit.question import Question
from hideseek.audit.schedule import RAISE, Schedule
from hideseek.audit.store import Part, PartKind, Store, path_name
from hideseek.audit.utility import measure, training_plan
from hideseek.chance import Randomness, secure, seeded
from hideseek.records import Attack, Release
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
from hideseek.records.update_encoder import UpdateEncoder
from hideseek.report import sentences
from hideseek.report.ranking import most_exposed

PATIENCE, GRACE = 2.0, 5.0  # times its share, and seconds, before an attack is stopped: then all its time is lost
TIME = Part(PartKind.TIME)
ENOUGH = 0.75  # of the least that another look is worth: settings are whole numbers


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
        self.clock, self.tell = clock, tell
        self.schedule = Schedule(question, plan, clock)
        self.learnt: dict[str, Accuracy] = {}
        self.advice: dict[str, tuple[Advice, ...]] = {}
        self._shared: tuple[str, Release, Secret] | None = None
        self.before = store.kept(TIME, TimeSpent) or TimeSpent(now())
        self._take_up()

    def take_all(self) -> None:
        """Take all steps for which there is time."""
        while (step := self.schedule.next()) is not None:
            {
                StepKind.HIDE: self._hide,
                StepKind.ATTACK: self._attack,
                StepKind.ACCURACY: self._accuracy,
                StepKind.ADVICE: self._advise,
            }[step.key.kind](step)

    def hidden(self, name: str) -> tuple[Release, Secret]:
        """Share the images as they would be shared, or take up what was shared; the last one is at hand."""
        if self._shared is None or self._shared[0] != name:
            question, folder, scheme = self.question, self.store.scheme_folder(name), self.question.schemes[name]
            public, shared, truth = question.public_for(scheme), folder / "release", folder / "truth"
            if not self._is_hidden(name):
                self.store.clear(name)  # of a run that was killed between the two
                scheme.write(question.private, public, self.chance(f"hide {name}"), shared, truth, question.rounds)
            release, secret = scheme.read(shared, truth, public)
            self._shared = (name, question.seen(release, question.own), question.with_others(secret))
        return self._shared[1:]

    def _is_hidden(self, name: str) -> bool:
        folder = self.store.scheme_folder(name)
        return (folder / "release").is_dir() and (folder / "truth").is_file()

    def time_spent(self) -> TimeSpent:
        """Tell what the audit took so far, before pauses too."""
        schedule, before = self.schedule, self.before
        return TimeSpent(
            before.started,
            before.work + self.clock.now() - schedule.began_work,
            before.wall + schedule.passed(),
            tuple(schedule.took.items()),
        )

    def keep_time(self) -> None:
        """Keep what the audit took, for when it goes on after a pause."""
        self.store.keep(TIME, TimeSpent, self.time_spent())

    def result(self, name: str, attack: str) -> AttackResult:
        """Say what an attack on a scheme came to; where there was no time for it, it was not tried."""
        key, release = StepKey(StepKind.ATTACK, name, attack), self.hidden(name)[0]
        not_run = PlannedAttack(attack, self.question.attacks[attack], 0.0)
        if (refused := self.plan.refused.get(key)) is not None:
            return not_run.result(release, Outcome.NOT_APPLICABLE, refusal=refused)
        if looks := self.schedule.looks.get(key):
            return best(looks).result
        least = next(step.smallest for step in self.plan.steps if step.key == key)
        no_time = Failure(FailureKind.NO_TIME, seconds=least)
        return self.schedule.stopped.get(key) or not_run.result(release, Outcome.NOT_TRIED, failure=no_time)

    def chance(self, name: str) -> Randomness:
        """Open a stream for one step: fresh keys, or, in a study, what belongs to the seed and the step's name."""
        if self.seed is None:
            return secure()
        return seeded(int.from_bytes(hashlib.sha256(f"audit {self.seed} {name}".encode()).digest()[:16], "little"))

    def stages(self) -> tuple[Stage, ...]:
        """Give what was forecast at first, and what it took."""
        took = self.schedule.took
        return tuple(
            Stage(step.key, step.expected, took.get(step.key), self._left_out(step.key)) for step in self.plan.steps
        )

    def _left_out(self, key: StepKey) -> bool:
        """Tell whether a step that was wanted was not taken; the proofs of an attack may have been."""
        if key.kind is StepKind.ATTACK:
            return key not in self.schedule.looks and key not in self.schedule.stopped
        if key in self.schedule.took:
            return False
        return key.kind is not StepKind.ADVICE or self.schedule.unadvised(key.scheme) is not None

    def _take_up(self) -> None:
        """Take up what was kept before a pause; what it took counts."""
        schedule, models = self.schedule, ("", *self.question.trainable)
        schedule.took |= dict(self.before.took)
        for key in (step.key for step in self.plan.steps if step.key.kind is StepKind.ATTACK):
            while (look := self.store.kept(self._part(key), Look)) is not None:
                schedule.looked(key, look)
                schedule.earlier += look.took
        trained = [self.store.kept(Part(PartKind.ACCURACY, name), Accuracy) for name in models]
        schedule.earlier += sum(accuracy.seconds for accuracy in trained if accuracy is not None)

    def _hide(self, step: Step) -> None:
        name, started, kept = step.key.scheme, self.clock.now(), self._is_hidden(step.key.scheme)
        release, _ = self.hidden(name)
        self._did(step.key, started, sentences.hidden(name, release.contents()), kept=kept)

    def _attack(self, step: Step) -> None:
        """Run an attack after its proofs, with the settings that its share of the time allows."""
        key, part, started = step.key, self._part(step.key), self.clock.now()
        belief = self._belief(key)
        proving = self.clock.now() - started
        share = self.schedule.share(key)
        if share is None:  # as its proofs have shown; perhaps later
            self.schedule.took[key] = self.schedule.took.get(key, 0.0) + proving
            return
        planned = self._planned(share)
        task = planned_task(self.question.schemes[key.scheme], self.question)
        work, own = planned.attack.work(task), self.question.attacks[key.attack]
        full = planned.attack == own or work is None or work >= (own.work(task) or 0.0)
        last = self.schedule.looks.get(key, [])[-1:]
        if last and not full and (work or 0.0) < ENOUGH * RAISE * (last[0].work or 0.0):
            self.schedule.final.add(key)  # settings between these two there are none
            return
        name = f"{key.scheme}/{key.attack}" + (f"@{part.look}" if part.look else "")
        pictures = "/".join(map(path_name, (key.scheme, key.attack))) + (f"@{part.look}" if part.look else "")

        def look() -> Look:
            release, secret = self.hidden(key.scheme)
            chance = self.chance(f"attack {name}")
            result = run_attack(
                planned, release, secret, belief.proofs, chance, self.clock, self.store.pictures, pictures
            )
            return Look(result, work, full, self.clock.now() - started, proving)

        found: Look = self.store.part(part, Look, look)
        result = found.result
        if result.outcome in (Outcome.FAILED, Outcome.NOT_TRIED) or _unfinished(result.proofs):
            self.store.forget(part)  # to be tried again, perhaps with more time
        if result.outcome is not Outcome.NOT_TRIED:
            self.schedule.looked(key, found)
        elif last:
            self.schedule.final.add(key)
        else:
            self.schedule.stopped[key] = result
            if _unfinished(result.proofs):  # more time for the attack would not help
                self.schedule.finished.add(key)
        self._did(key, started, sentences.attacked(key.scheme, result, len(self.question.private)))

    def _part(self, key: StepKey) -> Part:
        return Part(PartKind.RESULT, key.scheme, key.attack, len(self.schedule.looks.get(key, [])))

    def _accuracy(self, step: Step) -> None:
        """Train on what each scheme shares, and on the images themselves, all for the same number of steps."""
        learning = self.question.learning
        assert learning is not None  # noqa: S101 (else there is no such step)
        share = step.scaled / step.full if step.full else 1.0
        epochs: float = self.store.part(Part(PartKind.TRAINING), float, lambda: max(1.0, self.plan.epochs * share))
        models = {"": None, **self.question.trainable}
        updates = any(isinstance(scheme, UpdateEncoder) for scheme in models.values())
        how = training_plan(len(learning.train), self.question.rounds, epochs, descends=updates)
        for name, scheme in models.items():
            started, chance = self.clock.now(), self.chance(f"learn {name or 'vanilla'}")

            def learnt(scheme: Any = scheme, chance: Randomness = chance) -> Accuracy:
                return measure(learning, scheme, how, chance, self.clock)

            part = Part(PartKind.ACCURACY, name)
            kept = self.store.has(part)
            self.learnt[name] = self.store.part(part, Accuracy, learnt)
            if name == list(models)[-1]:
                self.schedule.finished.add(step.key)
            self._did(step.key, started, sentences.trained(name, self.learnt[name]), kept=kept)

    def _advise(self, step: Step) -> None:
        """Measure what would help against the attack that did most harm."""
        name, started = step.key.scheme, self.clock.now()
        worst = self.schedule.unadvised(name)
        assert worst is not None  # noqa: S101 (else there is no such step)
        key = StepKey(StepKind.ATTACK, name, worst.attack)
        scheme, look = self.question.schemes[name], best(self.schedule.looks[key])
        attack, task = self.question.attacks[worst.attack], planned_task(scheme, self.question)
        again = attack if look.full or look.work is None else attack.within(look.work, task)
        allowed = PATIENCE * worst.seconds + GRACE
        earlier = self.schedule.looks[key].index(look)
        planned = PlannedAttack(worst.attack, again, allowed, self.plan.tests, earlier, self.plan.unjudged)
        seconds = max(step.expected, self.schedule.left())
        part = Part(PartKind.ADVICE, name, worst.attack)
        kept = self.store.has(part)
        exposed = [image.image for image, _ in most_exposed(self.schedule.results(name))]
        self.advice[name] = self.store.part(
            part,
            tuple[Advice, ...],
            lambda: advise(
                scheme, worst, planned, self.question, self.chance(f"change {name}"), self.clock, seconds, exposed
            ),
        )
        self.schedule.advised[name] = worst.attack
        self._did(step.key, started, sentences.step(step.key), kept=kept)

    def _planned(self, step: Step) -> PlannedAttack:
        """Give an attack the settings that fit into its share of what is left, and when it is stopped.

        What a unit of its work takes was measured by its proofs, or by its last look; the plan knew only the machine.
        One of the strongest may work on while there is time beside others of that kind.
        """
        key, unit = step.key, self.schedule.unit(step.key)
        chosen: Attack[Any] = self.question.attacks[key.attack]
        task = planned_task(self.question.schemes[key.scheme], self.question)
        fitted = chosen if step.share == 1 else chosen.within(step.scaled / unit, task)
        needed = (fitted.work(task) or 0.0) * unit  # its least settings may take longer
        allowed = PATIENCE * max(step.scaled, needed) + GRACE
        if step.strongest:
            allowed = max(allowed, self.schedule.spare(key))
        return PlannedAttack(key.attack, fitted, allowed, self.plan.tests, self._part(key).look, self.plan.unjudged)

    def _belief(self, key: StepKey) -> Belief:
        """Prove an attack, once for all schemes that have the same weak case."""
        attack, kind = proof_of(key, self.question)
        part, chance = Part(PartKind.PROOFS, kind, attack), self.chance(f"proof/{attack}-{kind}")
        scheme = self.question.schemes[key.scheme]
        belief: Belief = self.store.part(
            part, Belief, lambda: prove(self.question.attacks[attack], scheme, self.question, chance, self.clock)
        )
        if _unfinished(belief.proofs):
            self.store.forget(part)
        self.schedule.units[attack, kind] = belief.unit
        return belief

    def _did(self, key: StepKey, started: float, text: str, *, kept: bool = False) -> None:
        """Note what a step took, and say that it is done, or was before a pause, and how long the rest will last."""
        took = self.clock.now() - started
        self.schedule.took[key] = self.schedule.took.get(key, 0.0) + took
        if key.kind is StepKind.HIDE:
            self.schedule.finished.add(key)
        self.keep_time()
        self.tell(sentences.done(text, None if kept else took, self.schedule.time_left()))


def _unfinished(proofs: tuple[Proof, ...]) -> bool:
    """Tell whether a proof did not come to its end: when the audit goes on, it is tried again."""
    kinds = [proof.failure.kind for proof in proofs if proof.failure is not None and not proof.passed]
    return FailureKind.TIME_LIMIT in kinds or FailureKind.ERROR in kinds
