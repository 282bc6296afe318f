"""Two audits side by side."""

from dataclasses import replace
from pathlib import Path

import pytest

from hideseek.records.result import Result
from hideseek.report.comparison import comparable, differences
from report.results import sample


@pytest.fixture
def result(tmp_path: Path) -> Result:
    return sample(tmp_path)


def test_an_audit_is_like_itself(result: Result) -> None:
    assert comparable(result, result) == []
    found = differences(result, result)
    assert found
    assert not any(each.differs for each in found)


def test_what_differs_is_marked(result: Result) -> None:
    first = result.schemes[0]
    assert first.accuracy is not None
    accuracy = first.accuracy.accuracy
    lower = replace(accuracy, mean=accuracy.mean - 0.4, low=accuracy.low - 0.4, high=accuracy.high - 0.4)
    verdicts = tuple(replace(verdict, outcome="failed") for verdict in first.verdicts)
    other = replace(first, accuracy=replace(first.accuracy, accuracy=lower), verdicts=verdicts)
    changed = replace(result, schemes=(other, *result.schemes[1:-1]))
    found = [each for each in differences(result, changed) if each.differs]
    assert [(each.subject, each.what) for each in found if each.subject == first.name] == [
        (first.name, "accuracy"),
        *((first.name, f"against {verdict.threat}") for verdict in first.verdicts if verdict.outcome != "failed"),
    ]
    gone = found[-1]
    assert (gone.subject, gone.first, gone.second) == (result.schemes[-1].name, "audited", "not audited")


def test_intervals_that_overlap_do_not_differ(result: Result) -> None:
    first = result.schemes[0]
    assert first.accuracy is not None
    near = replace(first.accuracy.accuracy, mean=first.accuracy.accuracy.low)
    changed = replace(
        result, schemes=(replace(first, accuracy=replace(first.accuracy, accuracy=near)), *result.schemes[1:])
    )
    assert not any(each.differs for each in differences(result, changed))


def test_audits_of_other_things_are_said_to_be(result: Result) -> None:
    other = replace(
        result,
        private=replace(result.private, images=result.private.images + 1),
        provenance=replace(result.provenance, budget=1.0),
    )
    reasons = comparable(result, other)
    assert len(reasons) == 2
    assert "private images differ" in reasons[0]
    assert "budgets differ" in reasons[1]
