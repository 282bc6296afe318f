"""An audit that uses its budget, and spends it on what matters: on a clock that only the attacks move.

A unit of work is 1e-12 seconds, so that a row of the attacks here takes a second; a proof takes two, judging one.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from clocks import VirtualClock
from hideseek.audit import Question, audit
from hideseek.audit.planning.plan import WALL_FACTOR, make_plan
from hideseek.audit.question import Learning
from hideseek.chance import Randomness
from hideseek.data import load, normalise
from hideseek.hide import Laplace
from hideseek.records import EncodedRelease, Evidence, Samples
from hideseek.records.result import AttackResult, FailureKind, Harm, Outcome, Result, StepKind
from toys import patterns
from trial_attacks import Counted, Informed, Minor

pytestmark = pytest.mark.usefixtures("without_lpips", "machine")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hideseek.audit.planning.plan.unit_seconds", lambda: 1e-12)
    monkeypatch.setattr(Counted, "ran", [])


@pytest.fixture(scope="module")
def faces() -> Samples:
    return normalise(load("faces").take(torch.arange(0, 160, 8)), "channel")


def asked(faces: Samples, **changes: Any) -> Question:
    return Question(faces, **{"schemes": {"noise": Laplace(alpha=0.02)}, "rounds": 3, "budget": 100.0, **changes})


def audited(
    question: Question, folder: Path, monkeypatch: pytest.MonkeyPatch, busy: float = 1.0, **more: Any
) -> tuple[Result, VirtualClock]:
    clock = VirtualClock(busy)
    monkeypatch.setattr(Counted, "clock", clock)
    return audit(question, folder, seed=1, clock=clock, **more), clock


def came(result: Result, scheme: int = 0) -> dict[str, AttackResult]:
    return {each.attack: each for each in result.schemes[scheme].attacks}


def test_beside_other_work_an_audit_takes_longer_and_says_the_same(
    faces: Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that is three times slower for others' sake; at five times, the deadline shortens it."""
    attacks = {"a": Counted(enough=30), "b": Minor(rows=400), "c": Informed(enough=90), "d": Minor(rows=50, enough=45)}
    told = {}
    for busy in (1.0, 3.0, 8.0):
        Counted.ran.clear()
        question = asked(faces, attacks=attacks, schemes={"x": Laplace(alpha=0.02), "y": Laplace(alpha=0.03)})
        result, clock = audited(question, tmp_path / str(busy), monkeypatch, busy)
        settings = [
            (each.outcome, each.harm, each.settings) for scheme in (0, 1) for each in came(result, scheme).values()
        ]
        verdicts = [verdict.outcome for scheme in result.schemes for verdict in scheme.verdicts]
        told[busy] = (verdicts, settings, list(Counted.ran))
        assert result.provenance.wall == pytest.approx(busy * result.provenance.seconds)
        assert clock.now() <= question.budget
        assert clock.wall() <= WALL_FACTOR * question.budget
    assert told[1.0] == told[3.0]
    assert sum(rows for _, rows in told[8.0][2]) < sum(rows for _, rows in told[1.0][2])


def test_the_strongest_attack_of_every_attacker_runs_past_a_tiny_budget(
    faces: Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attacks = {"minor": Minor(), "informed": Informed(enough=2), "strong": Counted()}
    result, clock = audited(asked(faces, attacks=attacks, budget=0.5), tmp_path / "a", monkeypatch)
    assert Counted.ran == [("Counted", 1), ("Informed", 1)]
    told = came(result)
    assert {name: each.outcome for name, each in told.items()} == {
        "strong": Outcome.BROKEN,
        "informed": Outcome.RESISTED,
        "minor": Outcome.NOT_TRIED,
    }
    failure = told["minor"].failure
    assert failure is not None
    assert failure.kind is FailureKind.NO_TIME
    assert failure.seconds == pytest.approx(5.0, abs=0.1)
    assert clock.now() == 6  # two proofs each, and the attacks
    plan = make_plan(asked(faces, attacks=attacks, budget=0.5))
    assert plan.least == pytest.approx(10, abs=0.5)
    assert plan.wall_limit == WALL_FACTOR * plan.least


def test_outsiders_come_first_then_what_can_show_the_worst_then_the_cheapest(
    faces: Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attacks = {"d": Informed(rows=5), "c": Minor(rows=9), "b": Counted(rows=8), "a": Counted(rows=7)}
    schemes = {"x": Laplace(alpha=0.02), "y": Laplace(alpha=0.03)}
    question = asked(faces, attacks=attacks, schemes=schemes, budget=1000.0)
    audited(question, tmp_path / "a", monkeypatch)
    wanted = [("Counted", 7), ("Counted", 7), ("Counted", 8), ("Counted", 8), ("Informed", 5), ("Informed", 5)]
    assert Counted.ran[:8] == [*wanted, ("Minor", 9), ("Minor", 9)]


def test_time_that_is_left_raises_settings_until_nothing_is_left_to_gain(
    faces: Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first share of `a` is not enough; `b` takes a tenth of what was expected, and what it leaves goes to `a`."""
    attacks = {"a": Counted(rows=80, enough=60), "b": Informed(rows=80, seconds=0.1)}
    result, clock = audited(asked(faces, attacks=attacks), tmp_path / "a", monkeypatch)
    looks = [rows for name, rows in Counted.ran if name == "Counted"]
    assert len(looks) == 2
    assert looks[0] < 60 <= looks[1]
    assert [name for name, _ in Counted.ran].count("Informed") <= 2  # it has shown the worst; once more without the ten
    told = came(result)["a"]
    assert (told.outcome, told.harm) == (Outcome.BROKEN, Harm.RECOVERED)
    assert told.settings["rows"] == looks[1]
    assert clock.now() <= 100
    again, clock = audited(asked(faces, attacks={"b": Counted(rows=3)}), tmp_path / "b", monkeypatch)
    assert clock.now() == 14  # two proofs, the attack, two changes, the exposed left out: nothing is left to gain
    assert came(again)["b"].outcome is Outcome.BROKEN


def test_a_second_look_has_half_the_level_and_an_earlier_finding_is_kept(
    faces: Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels: list[tuple[int, int]] = []
    real = __import__("hideseek.audit.findings.attacks", fromlist=["figures"]).figures

    def figures(judgement: Any, tests: int, look: int = 0) -> Any:
        levels.append((tests, look))
        return real(judgement, tests, look)

    monkeypatch.setattr("hideseek.audit.findings.attacks.figures", figures)
    attacks = {"a": Counted(rows=80, enough=1000), "b": Informed(rows=80, seconds=0.1)}
    result, _ = audited(asked(faces, attacks=attacks), tmp_path / "a", monkeypatch)
    assert came(result)["a"].outcome is Outcome.RESISTED
    assert (2, 1) in levels
    assert {tests for tests, _ in levels} == {1, 2, 5}  # weak cases, the two attacks, noise
    files = {path.name for path in (tmp_path / "a" / "pictures").rglob("*.png")}
    assert files
    assert all(("@1" in name) == name.startswith("a") for name in files)


@pytest.mark.parametrize("busy", [300.0, 60.0])
def test_at_the_deadline_what_was_not_reached_is_not_tried_and_never_failed(
    busy: float, faces: Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is in a proof of the first attack, or in the attack."""
    attacks = {"a": Counted(rows=30), "b": Minor(rows=20), "c": Informed(rows=30)}
    learning = Learning(patterns(30), patterns(30, seed=7))
    question = asked(faces, attacks=attacks, budget=40.0, learning=learning)
    result, clock = audited(question, tmp_path / "a", monkeypatch, busy)
    outcomes = {name: each.outcome for name, each in came(result).items()}
    assert set(outcomes.values()) == {Outcome.NOT_TRIED}
    assert result.vanilla is not None  # accuracy is never left out
    assert result.vanilla.epochs == 1
    assert clock.wall() <= result.provenance.wall_limit * 1.01
    skipped = {stage.key.attack for stage in result.plan if stage.left_out and stage.key.kind is StepKind.ATTACK}
    assert skipped <= {name for name, outcome in outcomes.items() if outcome is Outcome.NOT_TRIED}


def test_an_attack_that_was_stopped_is_tried_again_where_time_is_left(
    faces: Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its proofs took a second a row, the audited release takes nine: it is stopped after twice its share."""
    attacks = {"strong": Counted(rows=4), "slow": Minor(rows=4, seconds=9.0)}
    result, _ = audited(asked(faces, attacks=attacks, budget=100.0), tmp_path / "a", monkeypatch)
    assert came(result)["slow"].outcome is Outcome.BROKEN
    result, _ = audited(asked(faces, attacks=attacks, budget=30.0), tmp_path / "b", monkeypatch)
    slow = came(result)["slow"]
    assert (slow.outcome, slow.failure and slow.failure.kind) == (Outcome.NOT_TRIED, FailureKind.TIME_LIMIT)
    assert [proof.passed for proof in slow.proofs] == [True, True]


@dataclass(frozen=True)
class LongToProve(Minor):
    """Take twelve seconds more for every proof than anybody would expect."""

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        if (release.scheme.alpha, release.rounds) not in self.audited:  # type: ignore[attr-defined] # of Laplace
            self.clock.advance(12)
        return super().seek(release, chance)


def test_proofs_that_take_all_the_time_are_in_the_plan(
    faces: Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attacks = {"strong": Counted(rows=4), "slow": LongToProve(rows=4)}
    result, _ = audited(asked(faces, attacks=attacks, budget=35.0), tmp_path / "a", monkeypatch)
    assert came(result)["slow"].outcome is Outcome.NOT_TRIED
    (stage,) = (stage for stage in result.plan if stage.key.attack == "slow")
    assert stage.left_out
    assert stage.took is not None
    assert stage.took >= 12
    assert "left out after its proofs" in (tmp_path / "a" / "report.html").read_text()


def test_accuracy_is_measured_in_a_budget_that_is_too_small(
    faces: Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learning = Learning(patterns(30), patterns(30, seed=7))
    question = asked(faces, attacks={"a": Counted()}, budget=0.1, learning=learning)
    result, _ = audited(question, tmp_path / "a", monkeypatch)
    assert result.vanilla is not None
    assert result.schemes[0].accuracy is not None
    assert (result.vanilla.epochs, result.why_no_accuracy) == (1, None)


def test_what_was_stopped_goes_on_with_the_same_looks(
    faces: Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the second look of an attack; the budget goes on where it was."""
    attacks = {"a": Counted(rows=80, enough=1000), "b": Informed(rows=80, seconds=0.1)}
    question = asked(faces, attacks=attacks)
    whole, _ = audited(question, tmp_path / "whole", monkeypatch)
    ran, wanted = list(Counted.ran), came(whole)
    Counted.ran.clear()
    seek = Counted.seek

    def interrupted(self: Counted, release: Any, chance: Any) -> Any:
        if len(Counted.ran) == 2 and release.scheme.alpha != 0.01:
            raise KeyboardInterrupt
        return seek(self, release, chance)

    with monkeypatch.context() as patch:
        patch.setattr(Counted, "seek", interrupted)
        with pytest.raises(KeyboardInterrupt):
            audited(question, tmp_path / "a", monkeypatch)
    result, clock = audited(question, tmp_path / "a", monkeypatch, resume=True)
    assert Counted.ran == ran
    found = came(result)
    assert {name: (each.outcome, each.figures, each.settings) for name, each in found.items()} == {
        name: (each.outcome, each.figures, each.settings) for name, each in wanted.items()
    }
    assert result.provenance.seconds == pytest.approx(whole.provenance.seconds)
    assert clock.now() < result.provenance.seconds  # what was kept is not done again
    for stage, uninterrupted in zip(result.plan, whole.plan, strict=True):
        assert stage.took == pytest.approx(uninterrupted.took)  # before the pause and after it
        assert replace(stage, took=0.0) == replace(uninterrupted, took=0.0)
    assert result.provenance.wall == pytest.approx(whole.provenance.wall)
    assert result.provenance.wall > clock.wall() - 1e-9
