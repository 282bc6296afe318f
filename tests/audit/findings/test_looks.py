"""Looks: which one counts, and when another could find more."""

from dataclasses import replace

from hideseek.audit.findings.looks import Look, best, may_gain
from hideseek.records.release import Contents
from hideseek.records.result import AttackResult, Failure, FailureKind, Harm, Outcome
from trial_attacks import Counted, Minor

RESULT = AttackResult(
    "a", "", "", "outsider", Contents("encoding", 3), (), Outcome.RESISTED, Harm.NOTHING, {}, 1.0, 2.0, 0
)
LOOK = Look(RESULT, work=1e9, full=False, took=5.0, proving=1.0)


def look(
    outcome: Outcome, harm: Harm = Harm.NOTHING, *, full: bool = False, failure: FailureKind | None = None
) -> Look:
    why = None if failure is None else Failure(failure)
    return replace(LOOK, result=replace(RESULT, outcome=outcome, harm=harm, failure=why), full=full)


def test_the_last_look_counts_unless_an_earlier_one_found_worse() -> None:
    resisted, leaks = look(Outcome.RESISTED), look(Outcome.LEAKS, Harm.LINKED)
    broken, worse = look(Outcome.BROKEN, Harm.REIDENTIFIED), look(Outcome.BROKEN, Harm.RECOVERED)
    for one, other in ((resisted, leaks), (leaks, broken), (broken, worse), (look(Outcome.FAILED), resisted)):
        assert best([one, other]) is other
        assert best([other, one]) is other
    again = replace(resisted, took=9.0)
    assert best([resisted, again]) is again


def test_more_work_could_find_more_where_the_worst_is_not_shown_and_settings_can_be_raised() -> None:
    assert may_gain(Counted(), [look(Outcome.RESISTED)])
    assert may_gain(Counted(), [look(Outcome.BROKEN, Harm.REIDENTIFIED)])
    assert not may_gain(Counted(), [look(Outcome.BROKEN, Harm.RECOVERED)])
    assert not may_gain(Minor(), [look(Outcome.LEAKS, Harm.LIKENESS)])
    assert not may_gain(Counted(), [look(Outcome.RESISTED, full=True)])
    assert not may_gain(Counted(), [look(Outcome.WITHHELD)])
    assert not may_gain(Counted(), [look(Outcome.FAILED, failure=FailureKind.ERROR)])
    assert may_gain(Counted(), [look(Outcome.FAILED, failure=FailureKind.TOO_FEW_IMAGES)])


def test_judging_is_what_proofs_and_the_attack_leave() -> None:
    assert LOOK.judging == 2.0
