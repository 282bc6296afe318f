"""The steps of an audit at work: each is done once, kept, timed, and told of; chance is fresh for each."""

import hashlib
import shutil
import time
from collections.abc import Callable
from dataclasses import replace

from hideseek.audit.belief.advice import advise
from hideseek.audit.belief.proofs import prove, weak_kind
from hideseek.audit.findings.attacks import PlannedAttack, run_attack
from hideseek.audit.planning.budget import ACCURACY, in_words
from hideseek.audit.planning.plan import Plan
from hideseek.audit.question import Question
from hideseek.audit.store import Store, slug
from hideseek.audit.threats import seen_by, threat_of
from hideseek.audit.utility import TrainingPlan, measure, training_plan
from hideseek.chance import Randomness, secure, seeded
from hideseek.hide.files.release_files import read_release, release_digest, with_public, write_release
from hideseek.hide.files.secret_files import read_secret
from hideseek.records import EncodedRelease, MixingEncoder
from hideseek.records.mixing_secret import MixingSecret
from hideseek.records.result import Accuracy, Advice, AttackResult, Proof, Stage

SAFELY = 0.6  # of the time that is left, for training: a busy machine takes longer than was measured
ENOUGH = 10.0  # seconds of work, by which a machine is judged
PATIENCE, GRACE = 2.0, 5.0  # times its share, and seconds, before an attack is stopped: then all its time is lost


class Steps:
    """One audit at work."""

    def __init__(
        self, question: Question, plan: Plan, store: Store, seed: int | None, tell: Callable[[str], None]
    ) -> None:
        self.question, self.plan, self.store, self.seed, self.tell = question, plan, store, seed, tell
        self.started = time.monotonic()
        self.done: dict[str, float] = {}
        self.todo = [piece for piece in plan.pieces if not piece.left_out]

    def training_plan(self) -> TrainingPlan | None:
        """Choose how long to train, once, from the time that is left: all schemes must be trained alike."""
        piece, learning = self.plan.piece(ACCURACY), self.question.learning
        if learning is None or (piece is None and not self.store.has("lessons")):
            return None

        def affordable() -> float:
            assert piece is not None  # noqa: S101 (else there are lessons)
            seconds = min(piece.full, max(piece.scaled, SAFELY * self._left() - piece.fixed))
            return max(1.0, self.plan.epochs * seconds / piece.full)

        epochs = self.store.part("lessons", float, affordable)
        return training_plan(len(learning.train), self.question.rounds, epochs)

    def accuracy(self, name: str, scheme: MixingEncoder | None, how: TrainingPlan) -> Accuracy:
        """Train on what a scheme shares, or on the images themselves, and test."""
        learning = self.question.learning
        assert learning is not None  # noqa: S101 (there are lessons)
        started = time.monotonic()
        found = self.store.part(
            f"accuracy-{name}", Accuracy, lambda: measure(learning, scheme, how, self.chance(f"learn {name}"))
        )
        self._did(ACCURACY, started, f"{name}: {100 * found.accuracy.mean:.1f} % of new images right")
        return found

    def hidden(self, name: str, scheme: MixingEncoder) -> tuple[EncodedRelease, MixingSecret]:
        """Hide the images as they would be shared, or take up what was hidden before a pause."""
        question, place, started = self.question, self.store.place(name), time.monotonic()
        public, folder, truth = question.mixed_in(scheme), place / "release", place / "truth"
        if not ((folder / "release.json").is_file() and truth.is_file()):
            shutil.rmtree(place, ignore_errors=True)  # of a run that was killed between the two
            chance = self.chance(f"hide {name}")
            write_release(scheme, question.private, public, chance, folder, truth, question.rounds)
        release = read_release(folder)
        if public is not None:
            release = with_public(release, folder, public)
        secret = read_secret(truth, release_digest(folder))
        self._did(f"{name}/hide", started, f"{name}: {len(release.encoded):,} encodings are hidden")
        return replace(release, own=question.own), secret

    def attack(
        self, name: str, attack: str, scheme: MixingEncoder, release: EncodedRelease, secret: MixingSecret
    ) -> AttackResult:
        """Run one attack after its proofs; say so where it does not apply or was left out."""
        key, started = f"{name}/{attack}", time.monotonic()
        asked = self._attempt(name, attack)
        blank = asked.blank(seen_by(threat_of(asked.attack), release, secret))
        if reason := self.plan.refused.get(key):
            return replace(blank, outcome="not applicable", sentence=f"{reason[:1].upper()}{reason[1:]}", allowed=0.0)
        if self.plan.piece(key) is None and not self.store.has(key):
            piece = next(each for each in self.plan.pieces if each.key == key)
            least = in_words(piece.fixed + piece.least)
            said = f"It was not run: the budget left no time for it. It needs {least} at least: give a larger --budget."
            return replace(blank, sentence=said, allowed=0.0)

        def tried() -> AttackResult:
            proofs, chance = self._proofs(attack, scheme), self.chance(f"attack {key}")
            return run_attack(asked, release, secret, proofs, chance, self.store.pictures, slug(key).replace("/", "-"))

        found = self.store.part(key, AttackResult, tried)
        if found.outcome == "failed":
            self.store.forget(key)  # to be tried again, perhaps with more time
        self._did(key, started, f"{name}: {attack}: {found.outcome}. {found.sentence}")
        return found

    def advice(self, name: str, scheme: MixingEncoder, worst: AttackResult | None) -> tuple[Advice, ...]:
        """Measure what would help against the worst attack, where one broke the scheme and there is time."""
        key, started = f"{name}/change", time.monotonic()
        if worst is None or (self.plan.piece(key) is None and not self.store.has(key)):
            return ()
        again = self._attempt(name, worst.attack)
        told: tuple[Advice, ...] = self.store.part(
            key, tuple[Advice, ...], lambda: advise(scheme, worst, again, self.question, self.chance(f"change {name}"))
        )
        self._did(key, started, f"{name}: what would help")
        return told

    def chance(self, name: str) -> Randomness:
        """Open a stream for one step: fresh keys, or, in a study, what belongs to the seed and the step's name."""
        if self.seed is None:
            return secure()
        return seeded(int.from_bytes(hashlib.sha256(f"audit {self.seed} {name}".encode()).digest()[:16], "little"))

    def stages(self) -> tuple[Stage, ...]:
        """Give what was planned, and what it took."""
        return tuple(
            Stage(piece.words, piece.expected, self.done.get(piece.key), "left out" if piece.left_out else "")
            for piece in self.plan.pieces
        )

    def _attempt(self, name: str, attack: str) -> PlannedAttack:
        """Give an attack the settings that fit into its share of what is left, and when it is stopped.

        Plans err, and the machine may be busy: what came before shows how fast it is.
        """
        key = f"{name}/{attack}"
        piece = self.plan.piece(key)
        waiting = sum(each.expected for each in self.todo if each.key not in self.done or each.key == key)
        seconds = 0.0 if piece is None else piece.scaled * max(0.0, self._left()) / max(waiting, 1e-9)
        fitted = self.plan.attack(attack, name, self.question, seconds / self._pace())
        allowed = PATIENCE * max(seconds, piece.least if piece is not None else 0.0) + GRACE
        attacks = sum(f"{name}/{each}" not in self.plan.refused for each in self.question.attacks)
        return PlannedAttack(attack, fitted, allowed, attacks)

    def _left(self) -> float:
        """Tell how many seconds of the budget are left."""
        return self.question.budget - (time.monotonic() - self.started)

    def _pace(self) -> float:
        """Tell how much slower than the reference this machine is: than planned, if the parts so far took longer.

        That cheap parts took less says little of dear ones.
        """
        done = [piece for piece in self.todo if piece.key in self.done]
        expected, took = sum(piece.expected for piece in done), sum(self.done[piece.key] for piece in done)
        return self.plan.pace * min(3.0, max(1.0, took / expected)) if expected > ENOUGH else self.plan.pace

    def _proofs(self, attack: str, scheme: MixingEncoder) -> tuple[Proof, ...]:
        """Prove an attack, once for all schemes that have the same weak case."""
        case = f"proof/{attack}-{weak_kind(scheme)}"
        proofs: tuple[Proof, ...] = self.store.part(
            case,
            tuple[Proof, ...],
            lambda: prove(self.question.attacks[attack], scheme, self.question, self.chance(case)),
        )
        return proofs

    def _did(self, key: str, started: float, text: str) -> None:
        """Note what a step took, and say that it is done."""
        took = time.monotonic() - started
        self.done[key] = self.done.get(key, 0.0) + took
        number = sum(piece.key in self.done for piece in self.todo)
        self.tell(f"[{number}/{len(self.todo)}] {text} ({took:.1f} s)")
