"""Plan and result of an audit on the terminal."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from hideseek.audit.planning.budget import Step
from hideseek.audit.planning.plan import Plan
from hideseek.cli.audit_tables import show_plan, show_result
from hideseek.records import Reason, Refusal
from hideseek.records.result import NoAccuracy, NoAccuracyKind, StepKey, StepKind
from report.results import sample
from report.schemes import trained

HIDE, ATTACK, ADVICE = StepKind.HIDE, StepKind.ATTACK, StepKind.ADVICE


@dataclass(frozen=True)
class Question:
    schemes: dict[str, None]
    attacks: dict[str, None]
    why_no_accuracy: NoAccuracy | None = None


STEPS = (
    Step(StepKey(StepKind.ACCURACY), 30.0, must=True),
    Step(StepKey(HIDE, "mixup"), 1.5, must=True),
    Step(StepKey(ATTACK, "mixup", "pairs"), 1.0, 60.0, 60.0, must=True),
    Step(StepKey(ATTACK, "mixup", "short"), 1.0, 3.0, 99.0, share=0.0),
    Step(StepKey(ATTACK, "mixup", "half"), 1.0, 3.0, 9.0, share=0.5),
    Step(StepKey(ATTACK, "mixup", "slow"), 1.0, 99.0, 99.0, left_out=True),
    Step(StepKey(ADVICE, "mixup"), 2.5),
)
QUESTION = Question({"mixup": None, "laplace[x]": None}, dict.fromkeys(("pairs", "short", "half", "slow")))


def test_the_plan_names_every_step(capsys: pytest.CaptureFixture[str]) -> None:
    refused = {StepKey(ATTACK, "laplace[x]", "pairs"): Refusal(Reason.NOT_MASKED)}
    show_plan(Plan(STEPS, refused, 1e-11, 600.0), QUESTION)  # type: ignore[arg-type]
    said = capsys.readouterr().out
    rows = [" ".join(line.split()) for line in said.splitlines()]
    assert "step mixup laplace[x]" in rows
    assert "hide 1.5 s" in rows
    assert "pairs 1 min 1 s not applicable" in rows
    assert "short 4.0 s, least settings" in rows
    assert "half 7.0 s, shortened" in rows
    assert "slow if time is left" in rows
    assert "what would help 2.5 s" in rows
    assert "Accuracy: 30 s" in rows
    text = " ".join(rows)
    assert "Expected in all: 1 min 46 s of work, of a budget of 10 min." in text
    assert "it lasts longer; attacks are stopped after 40 min." in text


def test_metrics_that_there_is_no_time_for_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    for names in ((), ("lpips-vgg",)):
        show_plan(Plan(STEPS, {}, 1e-11, 600.0, unjudged=names), QUESTION)  # type: ignore[arg-type]
        text = " ".join(capsys.readouterr().out.split())
        assert ("Not measured for lack of time: lpips-vgg. No verdict rests on it." in text) == bool(names)


def test_a_budget_below_the_least_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    show_plan(Plan(STEPS[:3], {}, 1e-11, 10.0), QUESTION)  # type: ignore[arg-type]
    text = " ".join(capsys.readouterr().out.split())
    assert "1 min 32 s of work, the least that works, and more than the budget of 10 s." in text
    assert "stopped after 6 min 10 s" in text


def test_the_plan_says_why_no_accuracy_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    for why, words in (
        (None, "Accuracy is not measured: it was not asked for."),
        (NoAccuracy(NoAccuracyKind.NO_LABELS), "Accuracy is not measured: the images have no labels"),
    ):
        show_plan(Plan(STEPS[1:], {}, 1e-11, 600.0), replace(QUESTION, why_no_accuracy=why))  # type: ignore[arg-type]
        assert words in capsys.readouterr().out


def test_what_is_broken_is_red_what_leaks_is_yellow(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = sample(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORCE_COLOR", "1")
        show_result(result, tmp_path)
    said = capsys.readouterr().out
    for words in ("\x1b[1;31mbroken", "\x1b[33mleaks", "\x1b[2mnot tried", "\x1b[39mresisted"):
        assert words in said


def test_an_accuracy_is_beside_what_the_largest_class_scores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As on X-rays: 74.6 % is the largest class, and looks better than 66.1 %."""
    result = sample(tmp_path)
    assert result.vanilla is not None
    accuracies = [0.746, 0.661, 0.77, 0.95]
    schemes = tuple(
        replace(scheme, name=f"s{place}", accuracy=replace(trained(mean), largest_class=0.746), lost=0.9 - mean)
        for place, (scheme, mean) in enumerate(zip(result.schemes, accuracies, strict=True))
    )
    vanilla = replace(trained(0.9), largest_class=0.746)
    show_result(replace(result, schemes=schemes, vanilla=vanilla), tmp_path)
    rows = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "always the largest class 74.6 %" in rows
    for start in (
        "nothing hidden 90.0 %",
        "s0 74.6 % (−15.4) not above",
        "s1 66.1 % (−23.9) not above",
        "s2 77.0 % (−13.0) not surely above",
        "s3 95.0 % (+5.0) ",
    ):
        assert any(row.startswith(start) for row in rows), start
    assert not any(row.startswith("s3") and "not above" in row for row in rows)


def test_the_result_is_a_table_and_a_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = sample(tmp_path)
    cross = replace(result.schemes[1], name="cross", verdicts=result.schemes[1].verdicts[1:])
    show_result(replace(result, schemes=(result.schemes[0], cross)), tmp_path)
    said = capsys.readouterr().out
    rows = [" ".join(line.split()) for line in said.splitlines()]
    mixup = next(row for row in rows if row.startswith("mixup "))
    assert mixup == "mixup 61.2 % (−12.1) broken broken broken not applicable (weaker ones: broken)"
    assert next(row for row in rows if row.startswith("cross ")).count("not applicable") == 2  # of four attackers
    text = " ".join(rows)
    assert "1 of 2 ways of sharing is broken by an attacker who sees only what is shared; 1 leaks" in text
    assert "mixup: broken by an attacker who sees only what is shared; mixup-pairs (42 s, 312 MiB): 95.0 %" in text
    assert "cross: leaks to an attacker who sees only what is shared; public-search (1 min 15 s, 3.0 GiB): its" in text
    assert "Attackers: outsider, who sees only what is shared; candidates, who also has candidate images;" in text
    assert "mixup. Fewer rounds: 1 instead of 20. Not enough: mixup-pairs still beats its baseline." in text
    assert "6 reasons to distrust parts of this audit" in said
    assert str(tmp_path / "report.html") in said
