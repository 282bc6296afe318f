"""Two audits side by side."""

from dataclasses import replace
from pathlib import Path

import pytest

from hideseek.records.result import Outcome, Result, Truth
from hideseek.report import sentences
from hideseek.report.comparison import Compared, MismatchKind, differences, mismatches
from report.results import sample
from report.schemes import trained


@pytest.fixture
def result(tmp_path: Path) -> Result:
    return sample(tmp_path)


def test_an_audit_is_like_itself(result: Result) -> None:
    assert mismatches(result, result) == []
    found = differences(result, result)
    assert found
    assert not any(each.differs for each in found)


def test_what_differs_is_marked(result: Result) -> None:
    first = result.schemes[0]
    assert first.accuracy is not None
    accuracy = first.accuracy.accuracy
    lower = replace(accuracy, mean=accuracy.mean - 0.4, low=accuracy.low - 0.4, high=accuracy.high - 0.4)
    verdicts = tuple(replace(verdict, outcome=Outcome.FAILED) for verdict in first.verdicts)
    other = replace(first, accuracy=replace(first.accuracy, accuracy=lower), verdicts=verdicts)
    changed = replace(result, schemes=(other, *result.schemes[1:-1]))
    found = [each for each in differences(result, changed) if each.differs]
    assert [(each.what, each.attack, each.name) for each in found if each.scheme == first.name] == [
        (Compared.ACCURACY, "", ""),
        *((Compared.VERDICT, "", verdict.threat) for verdict in first.verdicts),
    ]
    assert sentences.difference(found[0]) == (
        "mixup",
        "accuracy",
        "61.2 % (58.2 to 64.2 %), largest class 50.0 %",
        "21.2 % (18.2 to 24.2 %), not above the largest class, 50.0 %",
    )
    assert sentences.difference(found[1]) == ("mixup", "against outsider", "broken", "failed")
    gone = (result.schemes[-1].name, "", "audited", "not audited")
    assert sentences.difference(found[-1]) == gone


def test_accuracies_stand_beside_the_largest_class(result: Result) -> None:
    scheme = result.schemes[0]
    known = replace(result, schemes=(replace(scheme, accuracy=replace(trained(0.6), largest_class=0.62)),))
    (accuracy,) = (each for each in differences(result, known) if each.what is Compared.ACCURACY)
    _, _, first, second = sentences.difference(accuracy)
    assert first == "61.2 % (58.2 to 64.2 %), largest class 50.0 %"
    assert second == "60.0 % (57.0 to 63.0 %), not above the largest class, 62.0 %"
    assert not accuracy.differs


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
    reasons = mismatches(result, other)
    assert [each.kind for each in reasons] == [MismatchKind.IMAGES, MismatchKind.BUDGET]
    assert [sentences.mismatch(each) for each in reasons] == [
        "Their private images differ: 160 of faces and 161 of faces.",
        "Their budgets differ: 10 min and 1.0 s.",
    ]


def test_every_circumstance_is_compared_and_said(result: Result) -> None:
    origin = replace(result.provenance, budget=1.0, versions={"hideseek": "9"})
    schemes = tuple(replace(scheme, rounds=scheme.rounds + 1) for scheme in result.schemes)
    other = replace(
        result,
        private=replace(result.private, address="others"),
        trained_on=None,
        schemes=schemes,
        provenance=origin,
        truth=Truth.MATCHED,
    )
    reasons = mismatches(result, other)
    assert [each.kind for each in reasons] == list(MismatchKind)
    assert sentences.mismatch(reasons[1]) == "Their rounds differ: 1 and 20 and 2 and 21."
    assert sentences.mismatch(reasons[2]) == "Their training images differ: 128 of the private images and none."
    assert sentences.mismatch(reasons[3]) == "Their truths to judge by differ: known and matched."
