"""Why an attack failed: what it raised, as a record that sentences are made from."""

from hideseek.audit.findings.attacks import failure_of
from hideseek.audit.planning.clock import OutOfTime
from hideseek.errors import BadInput
from hideseek.records import Reason, Refusal, Refused
from hideseek.records.result import Failure, FailureKind
from hideseek.report import sentences


def test_a_refusal_stays_one() -> None:
    refused = Refusal(Reason.TOO_FEW_ROUNDS, {"wanted": 8})
    failure = failure_of(Refused(refused), 5.0)
    assert failure == Failure(FailureKind.REFUSED, refusal=refused)
    assert sentences.failure(failure) == sentences.refusal(refused)


def test_other_errors_are_told_by_their_text() -> None:
    assert failure_of(BadInput("too few rows."), 5.0) == Failure(FailureKind.REFUSED, "too few rows.")
    assert failure_of(OutOfTime(), 5.0) == Failure(FailureKind.TIME_LIMIT, seconds=5.0)
    assert failure_of(ValueError("shapes"), 5.0) == Failure(FailureKind.ERROR, "ValueError: shapes")
