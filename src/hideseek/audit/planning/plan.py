"""What an audit will do, and what each step is expected to take."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hideseek.audit.belief.proofs import WORK, proof_size
from hideseek.audit.planning.budget import Step, allocate
from hideseek.audit.question import Question
from hideseek.audit.threats import given_to
from hideseek.audit.utility import epoch_seconds
from hideseek.chance import seeded
from hideseek.records import Attack, Encoder, Refusal, Task
from hideseek.records.result import StepKey, StepKind
from hideseek.seek import refusal
from hideseek.train.speed import unit_seconds
from hideseek.train.training import automatic

UNKNOWN = (2.0, 60.0)  # seconds, at least and at most, for an attack that does not count its work
HIDING = 1500  # multiplications a pixel: encoding, hashing, writing, reading
JUDGING = (1.0, 300_000)  # seconds, and multiplications a private pixel: metrics, baselines, resamples
FEW = 8  # images that a scheme is tried on, to see which attacks apply
CHANGES = 2  # that are measured where a scheme is broken


@dataclass(frozen=True)
class Plan:
    """All steps, why some attacks do not apply, and the seconds of a unit of work."""

    steps: tuple[Step, ...]
    refused: Mapping[StepKey, Refusal]
    unit: float
    epochs: int = 0
    """That a training takes if it is not shortened."""

    def step(self, key: StepKey) -> Step | None:
        """Give a step, unless it was left out."""
        return next((step for step in self.steps if step.key == key and not step.left_out), None)

    @property
    def expected(self) -> float:
        """Seconds that the audit is expected to take."""
        return sum(step.expected for step in self.steps)


def make_plan(question: Question) -> Plan:
    """Expect what everything takes, and allocate the budget; refuse one that is too small for anything."""
    unit = unit_seconds()
    steps: list[Step] = []
    refused: dict[StepKey, Refusal] = {}
    proved: set[tuple[str, str]] = set()
    epochs = 0
    if question.learning is not None:
        each = [epoch_seconds(question.learning, scheme) for scheme in (None, *question.trainable.values())]
        epochs = automatic(len(question.learning.train)).epochs
        steps.append(Step(StepKey(StepKind.ACCURACY), 1.0, sum(each), epochs * sum(each)))
    for name, scheme in question.schemes.items():
        attacks, not_here = _attacks(name, scheme, question, unit, proved)
        refused |= not_here
        pixels = question.rounds * question.private.images.numel()
        steps.append(Step(StepKey(StepKind.HIDE, name), 0.1 + HIDING * pixels * unit))
        steps += attacks
        if attacks:
            usual = sum(attack.full for attack in attacks) / len(attacks)
            judging = CHANGES * _judging(question, unit)
            steps.append(Step(StepKey(StepKind.ADVICE, name), judging, full=CHANGES * usual))
    return Plan(allocate(steps, question.budget), refused, unit, epochs)


def planned_task(scheme: Encoder, question: Question) -> Task:
    """Tell how large the release of a scheme will be."""
    public = question.known_of(question.public_for(scheme))
    return scheme.planned_size(question.private, public, question.own, question.rounds)


def _attacks(
    name: str, scheme: Encoder, question: Question, unit: float, proved: set[tuple[str, str]]
) -> tuple[list[Step], dict[StepKey, Refusal]]:
    """Tell what the attacks that apply take, and why others do not; a weak case is made once for like schemes."""
    task, proof = planned_task(scheme, question), proof_size(scheme, question)
    few = question.private.take(slice(0, max(FEW, 2 * task.images_per_item)))
    release, secret = scheme.hide(few, question.public_for(scheme), seeded(0), question.rounds)
    release = question.seen(release, question.own)
    steps, refused = [], {}
    for attack_name, attack in question.attacks.items():
        key = StepKey(StepKind.ATTACK, name, attack_name)
        reason = refusal(attack, given_to(attack, release, secret))
        if reason is not None:
            refused[key] = reason
            continue
        tried = attack.within(WORK, proof).work(proof)
        once = 0.0
        if (attack_name, scheme.weak_kind) not in proved:
            once = 1.0 + 2 * (UNKNOWN[0] if tried is None else unit * tried)
        proved.add((attack_name, scheme.weak_kind))
        least, full = _seconds(attack, task, unit)
        steps.append(Step(key, once + _judging(question, unit), min(least, full), full))
    return steps, refused


def _seconds(attack: Attack[Any], task: Task, unit: float) -> tuple[float, float]:
    """Expect the seconds of an attack with its least settings, and with its own."""
    least, full = attack.within(0.0, task).work(task), attack.work(task)
    return UNKNOWN if least is None or full is None else (unit * least, unit * full)


def _judging(question: Question, unit: float) -> float:
    once, each = JUDGING
    return once + each * question.private.images.numel() * unit
