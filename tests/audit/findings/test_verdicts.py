"""Verdicts from outcomes."""

from dataclasses import replace

import pytest

from hideseek.audit.findings.verdicts import verdicts, worst, worst_first
from hideseek.audit.threats import INFORMED, LINKED, OUTSIDER, THREATS, seen_by, threat_of
from hideseek.chance import seeded
from hideseek.hide import Mixup
from hideseek.records.result import AttackResult, Figure, Outcome, Range
from hideseek.seek import ATTACKS
from toys import images


def tried(attack: str, threat: str, outcome: Outcome, harm: int = 0, extent: float = 0.5) -> AttackResult:
    one = Range(extent, extent, extent, 50)
    figure = Figure("recovered", "Reconstruction", 0, "share", True, "", one, {}, "", None, None, True, harm == 6)
    return AttackResult(attack, "", "", threat, "", outcome, f"{attack} did.", harm, {}, 9.0, 2.0, 0, (figure,))


def test_a_break_by_a_weaker_attacker_is_one_by_every_stronger() -> None:
    said = verdicts([tried("a", "linked", "broken", 2), tried("b", "outsider", "resisted")], THREATS, "a bound")
    assert [verdict.outcome for verdict in said] == ["resisted", "broken", "broken"]
    assert [verdict.by for verdict in said] == ["b", "a", "a"]
    assert said[1].sentence == "a: a did."
    assert {verdict.bound for verdict in said} == {"a bound"}


def test_no_verdict_says_more_than_is_known() -> None:
    said = verdicts([tried("a", "outsider", "failed"), tried("b", "linked", "withheld")], THREATS, "")
    assert [verdict.outcome for verdict in said] == ["failed", "failed", "failed"]
    said = verdicts([tried("a", "outsider", "not applicable"), tried("b", "linked", "resisted")], THREATS, "")
    assert [verdict.outcome for verdict in said] == ["not applicable", "resisted", "resisted"]
    mixed = verdicts([tried("a", "outsider", "resisted"), tried("b", "outsider", "failed")], THREATS, "")[0]
    assert mixed.outcome == "resisted"
    assert "b did not run" in mixed.sentence
    assert "another attack, or more time, may do better" in mixed.sentence
    for outcome in ("broken", "resisted", "failed", "not applicable"):
        text = verdicts([tried("a", "outsider", outcome)], THREATS, "")[0].sentence
        assert "safe" not in text.lower()


def test_the_worst_comes_first() -> None:
    known = [
        tried("resisted", "outsider", "resisted"),
        tried("links", "outsider", "broken", 2),
        tried("few", "outsider", "broken", 6, 0.1),
        tried("most", "informed", "broken", 6, 0.9),
    ]
    assert [each.attack for each in worst_first(known)] == ["most", "few", "links", "resisted"]
    assert worst(known) == known[3]
    assert worst([known[0]]) is None


def test_attackers_see_what_they_may_and_no_more() -> None:
    release, secret = Mixup(k=3).hide(images(10), None, seeded(0))
    assert seen_by(OUTSIDER, release, secret) == release
    linked, informed = seen_by(LINKED, release, secret), seen_by(INFORMED, release, secret)
    assert linked.sources is not None
    assert linked.sources.equal(secret.sources[:, :1])
    assert linked.weights is None
    assert informed == replace(release, sources=secret.sources, weights=secret.weights)


@pytest.mark.parametrize("name", ATTACKS)
def test_every_attack_has_an_attacker_who_has_what_it_needs(name: str) -> None:
    release, secret = Mixup(k=3).hide(images(10), None, seeded(0))
    given = seen_by(threat_of(ATTACKS[name]), release, secret)
    missing = [need for need in ATTACKS[name].needs if getattr(given, need) is None]
    assert missing in ([], ["public"])
