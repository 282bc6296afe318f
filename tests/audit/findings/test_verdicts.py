"""Verdicts from outcomes."""

import pytest

from hideseek.audit.findings.verdicts import verdicts, worst_first
from hideseek.audit.threats import INFORMED, LINKED, OUTSIDER, THREATS, seen_by, threat_of
from hideseek.chance import seeded
from hideseek.hide import Mixup
from hideseek.records import Contents
from hideseek.records.result import AttackResult, Figure, Harm, Outcome, Range, Threat
from hideseek.seek import ATTACKS
from toys import images


def result(attack: str, threat: str, outcome: Outcome, harm: Harm = Harm.NOTHING, extent: float = 0.5) -> AttackResult:
    one, broken = Range(extent, extent, extent, 50), outcome is Outcome.BROKEN
    figure = Figure("m", "links", 0, "share", True, "", "", one, {}, "", None, None, harm, broken)
    contents = Contents("encoding", 50)
    return AttackResult(attack, "", "", threat, contents, (), outcome, harm, {}, 9.0, 2.0, 0, figures=(figure,))


def test_a_break_by_a_weaker_attacker_is_one_by_every_stronger() -> None:
    known = [result("a", "linked", Outcome.BROKEN, Harm.LINKED), result("b", "outsider", Outcome.RESISTED)]
    said = verdicts(known, THREATS)
    assert [verdict.outcome for verdict in said] == ["resisted", "broken", "broken"]
    assert [verdict.by for verdict in said] == ["b", "a", "a"]
    assert [verdict.broke for verdict in said] == [(), ("a",), ("a",)]
    assert [verdict.resisted for verdict in said] == [("b",), ("b",), ("b",)]


def test_attackers_need_not_nest() -> None:
    """A client and an eavesdropper know different things: what one finds, the other may not."""
    client, listener = Threat("client", "", "", ("model",)), Threat("listener", "", "", ("traffic",))
    nobody, both = Threat("nobody", "", ""), Threat("both", "", "", ("model", "traffic"))
    said = verdicts([result("a", "client", Outcome.BROKEN, Harm.PARTS)], (nobody, client, listener, both))
    assert [verdict.outcome for verdict in said] == ["not applicable", "broken", "not applicable", "broken"]


def test_no_verdict_says_more_than_is_known() -> None:
    said = verdicts([result("a", "outsider", Outcome.FAILED), result("b", "linked", Outcome.WITHHELD)], THREATS)
    assert [verdict.outcome for verdict in said] == ["failed", "failed", "failed"]
    assert [verdict.missing for verdict in said] == [("a",), ("a", "b"), ("a", "b")]
    known = [result("a", "outsider", Outcome.NOT_APPLICABLE), result("b", "linked", Outcome.RESISTED)]
    assert [verdict.outcome for verdict in verdicts(known, THREATS)] == ["not applicable", "resisted", "resisted"]
    known = [result("a", "outsider", Outcome.RESISTED), result("b", "outsider", Outcome.FAILED)]
    mixed = verdicts(known, THREATS)[0]
    assert (mixed.outcome, mixed.missing, mixed.seconds) == ("resisted", ("b",), 2.0)


def test_the_worst_comes_first() -> None:
    known = [
        result("resisted", "outsider", Outcome.RESISTED),
        result("links", "outsider", Outcome.BROKEN, Harm.LINKED),
        result("few", "outsider", Outcome.BROKEN, Harm.RECOVERED, 0.1),
        result("most", "informed", Outcome.BROKEN, Harm.RECOVERED, 0.9),
    ]
    assert [each.attack for each in worst_first(known)] == ["most", "few", "links", "resisted"]


def test_attackers_see_what_they_may_and_no_more() -> None:
    release, secret = Mixup(k=3).hide(images(10), None, seeded(0))
    assert seen_by(OUTSIDER, release, secret) == release
    linked, informed = seen_by(LINKED, release, secret), seen_by(INFORMED, release, secret)
    for given in (linked, informed):
        assert given.made_for is not None
        assert given.made_for.equal(secret.sources[:, 0])
    assert (linked.sources, linked.weights) == (None, None)
    assert informed.sources is secret.sources
    assert informed.weights is secret.weights


@pytest.mark.parametrize("name", ATTACKS)
def test_every_attack_belongs_to_the_weakest_attacker_who_has_what_it_needs(name: str) -> None:
    release, secret = Mixup(k=3).hide(images(10), None, seeded(0))
    chosen = threat_of(ATTACKS[name])

    def lacks(threat: Threat) -> list[str]:
        given = seen_by(threat, release, secret)
        return [need for need in ATTACKS[name].needs if getattr(given, need) is None and need != "public"]

    assert lacks(chosen) == []
    assert all(lacks(threat) for threat in THREATS if chosen.covers(threat) and threat != chosen)
