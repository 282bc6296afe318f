from dataclasses import replace
from pathlib import Path

from hideseek.records.result import Harm, Outcome
from hideseek.report.ranking import worst_attack
from report.pieces import attacked
from report.schemes import mixup


def test_of_equal_harm_what_was_given_least_is_the_worst(tmp_path: Path) -> None:
    informed = attacked("phase-retrieval", outcome=Outcome.BROKEN, harm=Harm.RECOVERED, given=("weights", "sources"))
    outsider = attacked("link-and-solve", outcome=Outcome.BROKEN, harm=Harm.RECOVERED, given=())
    leaking = attacked("mixup-pairs", outcome=Outcome.LEAKS, harm=Harm.LINKED, given=())
    scheme = replace(mixup(tmp_path), attacks=(informed, outsider, leaking))
    assert worst_attack(scheme) == outsider
    assert worst_attack(replace(scheme, attacks=(leaking, informed))) == informed
