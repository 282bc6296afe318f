"""What an audit will do, and what each part is expected to take."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hideseek.audit.belief.proofs import SECONDS, proof_task, weak_kind
from hideseek.audit.planning.budget import ACCURACY, Piece, share
from hideseek.audit.question import Question
from hideseek.audit.threats import seen_by, threat_of
from hideseek.audit.utility import epoch_seconds
from hideseek.chance import seeded
from hideseek.records import Attack, MixingEncoder
from hideseek.records.attack import Task
from hideseek.train.speed import pace
from hideseek.train.training import automatic

UNKNOWN = (2.0, 60.0)  # seconds, at least and at most, for an attack that does not say what it takes
HIDING = 2e-8  # seconds a pixel: encoding, hashing, writing, reading
JUDGING = (1.0, 4e-6)  # seconds, and seconds a pixel of the private images: metrics, baselines, resamples
FEW = 8  # images that a scheme is tried on, to see which attacks apply
CHANGES = 2  # that are measured where a scheme is broken


@dataclass(frozen=True)
class Plan:
    """All parts, and why some attacks do not apply."""

    pieces: tuple[Piece, ...]
    refused: Mapping[str, str]
    pace: float
    epochs: int = 0
    """That a training takes if it is not shortened."""

    def piece(self, key: str) -> Piece | None:
        """Give a part, unless it was left out."""
        return next((piece for piece in self.pieces if piece.key == key and not piece.left_out), None)

    @property
    def expected(self) -> float:
        """Seconds that the audit is expected to take."""
        return sum(piece.expected for piece in self.pieces)

    def attack(self, name: str, scheme: str, question: Question, seconds: float) -> Attack[Any]:
        """Give an attack with settings that fit into so many seconds of the reference machine."""
        piece, attack = self.piece(f"{scheme}/{name}"), question.attacks[name]
        if piece is None or piece.unknown:
            return attack
        return attack.within(seconds, _task(question.schemes[scheme], question))


def make_plan(question: Question) -> Plan:
    """Expect what everything takes, and share the budget out; refuse one that is too small for anything."""
    slower = pace()
    pieces, refused, proved = [], {}, set[str]()
    epochs = 0
    if question.learning is not None:
        each = [epoch_seconds(question.learning, scheme) for scheme in (None, *question.schemes.values())]
        epochs = automatic(len(question.learning.train)).epochs
        words = f"accuracy of vanilla training and {len(question.schemes)} scheme{'s' * (len(question.schemes) > 1)}"
        pieces.append(Piece(ACCURACY, words, 1.0, sum(each), epochs * sum(each)))
    for name, scheme in question.schemes.items():
        attacks, not_here = _attacks(name, scheme, question, slower, proved)
        refused.update(not_here)
        pixels = question.rounds * question.private.images.numel()
        pieces.append(Piece(f"{name}/hide", f"{name}: hide", 0.1 + HIDING * pixels * slower, needed=True))
        pieces += attacks
        if attacks:
            usual = sum(attack.full for attack in attacks) / len(attacks)
            judging = CHANGES * _judging(question, slower)
            pieces.append(Piece(f"{name}/change", f"{name}: what would help", judging, full=CHANGES * usual))
    return Plan(share(pieces, question.budget), refused, slower, epochs)


def _attacks(
    name: str, scheme: MixingEncoder, question: Question, slower: float, proved: set[str]
) -> tuple[list[Piece], dict[str, str]]:
    """Tell what the attacks that apply take, and why others do not; a weak case is planted once for like schemes."""
    few = question.private.take(slice(0, max(FEW, 2 * sum(scheme.images_per_row))))
    release, secret = scheme.hide(few, question.mixed_in(scheme), seeded(0), question.rounds)
    release = replace(release, own=question.own)
    pieces, refused = [], {}
    for attack_name, attack in question.attacks.items():
        key = f"{name}/{attack_name}"
        if reason := attack.refuses(seen_by(threat_of(attack), release, secret)):
            refused[key] = reason
            continue
        task, proof = _task(scheme, question), proof_task(scheme, question)
        full, least = attack.effort(task), attack.within(0.0, task).effort(task)
        tried = attack.within(SECONDS, proof).effort(proof)
        planted = f"{attack_name} {weak_kind(scheme)}"
        each = UNKNOWN[0] if tried is None else slower * tried
        once = 0.0 if planted in proved else 2 * each + 1.0
        proved.add(planted)
        unknown = full is None or least is None
        fixed = once + _judging(question, slower)
        least, full = UNKNOWN if full is None or least is None else (least * slower, full * slower)
        pieces.append(Piece(key, f"{name}: {attack_name}", fixed, min(least, full), full, unknown=unknown))
    return pieces, refused


def _task(scheme: MixingEncoder, question: Question) -> Task:
    return Task.planned(scheme, question.private, question.mixed_in(scheme), question.own, question.rounds)


def _judging(question: Question, slower: float) -> float:
    once, each = JUDGING
    return slower * (once + each * question.private.images.numel())
