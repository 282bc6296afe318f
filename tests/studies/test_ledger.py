"""What studies keep: what is measured again, what is marked, and when a paper's accuracy is judged at all."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ledger import Ledger, Trial
from verdicts import comparable, verdict

from hideseek.score.judge import VERSION


def trials(counted: list[str]) -> list[Trial]:
    def measuring(name: str) -> Callable[[], dict[str, Any]]:
        def run() -> dict[str, Any]:
            counted.append(name)
            return {"figure": len(counted)}

        return run

    return [
        Trial("table1", "attack", {"seed": 0}, measuring("attack"), judged=True),
        Trial("table2", "accuracy", {"seed": 0}, measuring("accuracy")),
    ]


def aged(path: Path) -> Ledger:
    """The ledger, as if its attacks had been judged by the rules before today's."""
    content = json.loads(path.read_text())
    for entry in content["trials"].values():
        if "judge" in entry:
            entry["judge"] -= 1
    path.write_text(json.dumps(content))
    return Ledger.open(path, "a study")


def test_only_what_the_judge_has_judged_grows_old(tmp_path: Path) -> None:
    counted: list[str] = []
    ledger = Ledger.open(tmp_path / "study.json", "a study")
    ledger.measure(trials(counted))
    assert {name: entry.get("judge") for name, entry in ledger.entries.items()} == {"attack": VERSION, "accuracy": None}
    assert ledger.mark("attack") == ledger.legend("study.py") == ""
    ledger = aged(ledger.path)
    assert (ledger.mark("attack"), ledger.mark("accuracy"), ledger.mark("unknown")) == (" †", "", "")
    assert "python studies/study.py --stale" in ledger.legend("study.py")


def test_stale_trials_are_measured_again_when_asked_for_and_no_others(tmp_path: Path) -> None:
    counted: list[str] = []
    ledger = Ledger.open(tmp_path / "study.json", "a study")
    ledger.measure(trials(counted))
    ledger = aged(ledger.path)
    ledger.measure(trials(counted))
    assert counted == ["attack", "accuracy"]
    ledger.measure(trials(counted), stale=True)
    assert counted == ["attack", "accuracy", "attack"]
    assert Ledger.open(ledger.path, "a study").entries["attack"]["judge"] == VERSION
    ledger.measure(trials(counted), stale=True)
    assert len(counted) == 3
    absent = Ledger.open(tmp_path / "other.json", "a study")
    absent.measure(trials(counted), stale=True)
    assert not absent.entries


@pytest.mark.parametrize(
    ("claimed", "found", "claimed_vanilla", "vanilla", "expected"),
    [
        (98.2, 97.7, 99.5, 99.4, "as claimed"),  # lost 1.7, and 1.3 claimed: within half a point
        (98.2, 97.5, 99.5, 99.4, "more than claimed"),
        (91.2, 48.6, 94.8, 75.8, "not comparable"),
        (91.2, 92.0, 94.8, 92.7, "not comparable"),  # as little lost, at another level
        (91.2, 92.0, 94.8, 96.9, "not comparable"),
        (90.51, 9.6, None, 85.3, "not comparable"),
    ],
)
def test_losses_are_compared_where_vanilla_is_within_two_points(
    claimed: float, found: float, claimed_vanilla: float | None, vanilla: float, expected: str
) -> None:
    assert verdict(claimed, found, claimed_vanilla, vanilla) == expected
    assert comparable(vanilla, claimed_vanilla) == (expected != "not comparable")


def test_another_experiment_is_not_comparable_however_near() -> None:
    assert verdict(98.1, 98.1, 99.5, 99.5, "pre-trained") == "not comparable: pre-trained"
