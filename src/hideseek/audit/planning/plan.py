"""What an audit will do, and what each step is expected to take: a forecast, revised after every step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hideseek.audit.belief.proofs import WORK, longest_proof, proof_size
from hideseek.audit.planning.budget import OVERRUN, QUARTER, Step, allocate
from hideseek.audit.planning.judging import judging_seconds, unjudged
from hideseek.audit.planning.order import in_order
from hideseek.audit.question import Question
from hideseek.audit.threats import given_to
from hideseek.audit.utility import epoch_seconds
from hideseek.chance import seeded
from hideseek.files import need_memory
from hideseek.records import Attack, Encoder, Refusal, Task
from hideseek.records.result import StepKey, StepKind, Truth
from hideseek.seek import refusal
from hideseek.train.speed import unit_seconds
from hideseek.train.training import automatic

UNKNOWN = (2.0, 60.0)  # seconds, at least and at most, for an attack that does not count its work
MAKING = 3  # times are a weak case and noise made, with what a stronger attacker knows of them
FEW = 8  # images that a scheme is tried on, to see which attacks apply
FEWEST_CHANGES = 2  # that time is kept for, to measure them where a scheme is broken
WALL_FACTOR = 4.0  # times the budget may an audit last: beside two busy processes on two cores it lasts about twice


@dataclass(frozen=True)
class Plan:
    """All steps in their order, why some attacks do not apply, and the seconds of a unit of work."""

    steps: tuple[Step, ...]
    refused: Mapping[StepKey, Refusal]
    unit: float
    budget: float
    epochs: int = 0
    """That a training takes if it is not shortened."""
    unjudged: tuple[str, ...] = ()
    """Metrics that there is no time for."""

    def step(self, key: StepKey) -> Step | None:
        """Give a step, unless there is no time for it."""
        return next((step for step in self.steps if step.key == key and not step.left_out), None)

    @property
    def expected(self) -> float:
        """Seconds of work that the audit is expected to take."""
        return sum(step.expected for step in self.steps)

    @property
    def least(self) -> float:
        """Seconds of work that it takes at least: what is done in any case, with the least settings."""
        return sum(step.smallest for step in self.steps if step.must)

    @property
    def wall_limit(self) -> float:
        """Seconds after which attacks are stopped, however busy the machine is with other things."""
        return WALL_FACTOR * max(self.budget, self.least)

    @property
    def tests(self) -> int:
        """Count the attacks on all schemes together that may err."""
        return sum(step.key.kind is StepKind.ATTACK for step in self.steps)


def make_plan(question: Question) -> Plan:
    """Expect what everything takes, and allocate the budget; a release that does not fit into memory is refused."""
    need_memory(question.release_size, "a release of these images", "audit fewer images (a sample), or fewer rounds")
    unit = unit_seconds()
    hiding, advice, training = [], [], []
    attacks: list[Step] = []
    refused: dict[StepKey, Refusal] = {}
    epochs = 0
    if question.learning is not None:
        each = [epoch_seconds(question.learning, scheme) for scheme in (None, *question.trainable.values())]
        epochs = automatic(len(question.learning.train)).epochs
        training.append(Step(StepKey(StepKind.ACCURACY), 1.0, sum(each), epochs * sum(each), must=True))
    for name, scheme in question.schemes.items():
        apply, not_here = _attacks(name, scheme, question, unit)
        refused |= not_here
        attacks += apply
    left_out = unjudged([question.attacks[step.key.attack] for step in attacks], question, unit)
    judging = {name: judging_seconds(attack, question, unit, left_out) for name, attack in question.attacks.items()}
    attacks = [replace(step, fixed=step.fixed + judging[step.key.attack]) for step in attacks]
    for name, scheme in question.schemes.items():
        apply = [step for step in attacks if step.key.scheme == name]
        making = scheme.hiding_work(question.private, question.rounds) * unit
        hiding.append(Step(StepKey(StepKind.HIDE, name), 0.1 + making, must=True))
        if apply and question.truth is Truth.KNOWN:  # else a change could not be judged as what was shared is
            usual = sum(attack.full for attack in apply) / len(apply)
            count = changes(scheme, question)
            beside = count * (max(step.fixed for step in apply) + making)
            advice.append(Step(StepKey(StepKind.ADVICE, name), beside, full=count * usual))
    ordered = proved_once(_provable(in_order(attacks, question.attacks), question), question)
    budget = question.budget
    steps = allocate([*hiding, *ordered, *training, *advice], budget, QUARTER * budget, OVERRUN * budget)
    return Plan(steps, refused, unit, question.budget, epochs, left_out)


def _provable(steps: Sequence[Step], question: Question) -> list[Step]:
    """Let no attack run in any case whose proofs would be given up: it would take its time, and show nothing."""
    longest = 2 * longest_proof(question)
    return [replace(step, must=False, strongest=False) if step.proof > longest else step for step in steps]


def changes(scheme: Encoder, question: Question) -> int:
    """Count the changes of a scheme that are measured where it is broken."""
    return max(FEWEST_CHANGES, sum(1 for _ in scheme.stronger(question.rounds)))


def planned_task(scheme: Encoder, question: Question) -> Task:
    """Tell how large the release of a scheme will be."""
    public = question.known_of(question.public_for(scheme))
    return scheme.planned_size(question.private, public, question.own, question.rounds)


def proof_of(key: StepKey, question: Question) -> tuple[str, str]:
    """Name the proofs of an attack: schemes that have the same weak case share them."""
    return key.attack, question.schemes[key.scheme].weak_kind


def proved_once(steps: Sequence[Step], question: Question, proved: Sequence[tuple[str, str]] = ()) -> list[Step]:
    """Count proofs in the first step that needs them, and not where they are done."""
    done, once = set(proved), []
    for step in steps:
        proof = proof_of(step.key, question)
        once.append(replace(step, proof=0.0) if proof in done else step)
        done.add(proof)
    return once


def _attacks(name: str, scheme: Encoder, question: Question, unit: float) -> tuple[list[Step], dict[StepKey, Refusal]]:
    """Tell what the attacks that apply take beside their judging, and why others do not."""
    task, proof = planned_task(scheme, question), proof_size(scheme, question)
    weak = question.private.take(slice(0, scheme.trial(question.private).images))
    making = MAKING * unit * scheme.hiding_work(weak, 1)
    revealing = unit * scheme.hiding_work(question.private, question.rounds)
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
        proving = 1.0 + making + 2 * (UNKNOWN[0] if tried is None else unit * tried)
        least, full = _seconds(attack, task, unit)
        told = revealing if set(attack.needs) & set(attack.sees.withheld) else 0.0
        steps.append(Step(key, told, min(least, full), full, proof=proving))
    return steps, refused


def _seconds(attack: Attack[Any], task: Task, unit: float) -> tuple[float, float]:
    """Expect the seconds of an attack with its least settings, and with its own."""
    least, full = attack.within(0.0, task).work(task), attack.work(task)
    return UNKNOWN if least is None or full is None else (unit * least, unit * full)
