"""Plan and result of an audit on the terminal."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from hideseek.cli.audit_tables import show_plan, show_result
from hideseek.records import Reason, Refusal
from hideseek.records.result import NoAccuracy, NoAccuracyKind, StepKey, StepKind
from report.results import sample

HIDE, ATTACK, ADVICE = StepKind.HIDE, StepKind.ATTACK, StepKind.ADVICE


@dataclass(frozen=True)
class Step:
    key: StepKey
    expected: float
    left_out: bool = False


@dataclass(frozen=True)
class Plan:
    steps: tuple[Step, ...]
    refused: dict[StepKey, Refusal] = field(default_factory=dict)
    expected: float = 95.0


@dataclass(frozen=True)
class Question:
    schemes: dict[str, None]
    attacks: dict[str, None]
    budget: float = 600.0
    why_no_accuracy: NoAccuracy | None = None


STEPS = (
    Step(StepKey(StepKind.ACCURACY), 30.0),
    Step(StepKey(HIDE, "mixup"), 1.5),
    Step(StepKey(ATTACK, "mixup", "pairs"), 61.0),
    Step(StepKey(ATTACK, "mixup", "slow"), 0.0, left_out=True),
    Step(StepKey(ADVICE, "mixup"), 2.5),
)
QUESTION = Question({"mixup": None, "laplace[x]": None}, {"pairs": None, "slow": None})


def test_the_plan_names_every_step(capsys: pytest.CaptureFixture[str]) -> None:
    refused = {StepKey(ATTACK, "laplace[x]", "pairs"): Refusal(Reason.NOT_MASKED)}
    show_plan(Plan(STEPS, refused), QUESTION)  # type: ignore[arg-type]
    said = capsys.readouterr().out
    rows = [" ".join(line.split()) for line in said.splitlines()]
    assert "step mixup laplace[x]" in rows
    assert "hide 1.5 s" in rows
    assert "pairs 1 min 1 s not applicable" in rows
    assert "slow left out" in rows
    assert "what would help 2.5 s" in rows
    assert "Accuracy: 30 s" in rows
    assert "Expected in all: 1 min 35 s, of a budget of 10 min." in rows


def test_the_plan_says_why_no_accuracy_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    show_plan(Plan(STEPS[1:]), QUESTION)  # type: ignore[arg-type]
    assert "Accuracy is not measured: the budget leaves no time to train" in capsys.readouterr().out
    left_out = replace(STEPS[0], left_out=True)
    asked = replace(QUESTION, why_no_accuracy=NoAccuracy(NoAccuracyKind.NOT_ASKED))
    show_plan(Plan((left_out, *STEPS[1:])), asked)  # type: ignore[arg-type]
    assert "Accuracy is not measured: it was not asked for." in capsys.readouterr().out


def test_what_is_broken_is_red_what_leaks_is_yellow(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = sample(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORCE_COLOR", "1")
        show_result(result, tmp_path)
    said = capsys.readouterr().out
    for words in ("\x1b[1;31mbroken", "\x1b[33mleaks", "\x1b[2mnot tried", "\x1b[39mresisted"):
        assert words in said


def test_the_result_is_a_table_and_a_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = sample(tmp_path)
    cross = replace(result.schemes[1], name="cross", verdicts=result.schemes[1].verdicts[1:])
    show_result(replace(result, schemes=(result.schemes[0], cross)), tmp_path)
    said = capsys.readouterr().out
    rows = [" ".join(line.split()) for line in said.splitlines()]
    mixup = next(row for row in rows if row.startswith("mixup "))
    assert mixup == "mixup 61.2 % (−12.1) broken broken broken not applicable (weaker ones: broken)"
    assert next(row for row in rows if row.startswith("cross ")).count("not applicable") == 2  # of four attackers
    assert "1 of 2 ways of sharing is broken by an attacker who sees only what is shared; 1 leaks" in " ".join(rows)
    assert "mixup: broken; mixup-pairs (42 s, 312 MiB): 95.0 % of its guesses are the private image" in " ".join(rows)
    assert "cross: leaks; public-search (1 min 15 s, 3.0 GiB): its first guess is a public image" in " ".join(rows)
    assert "Attackers: outsider, who sees only what is shared; candidates, who also has candidate" in " ".join(rows)
    assert "mixup. Fewer rounds: 1 instead of 20. Not enough: mixup-pairs still beats its baseline." in " ".join(rows)
    assert "6 reasons to distrust parts of this audit" in said
    assert str(tmp_path / "report.html") in said
