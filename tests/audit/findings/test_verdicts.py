"""Verdicts from what attacks found."""

from dataclasses import replace

import pytest

from attacks_by_kind import ROW_ATTACKS
from hideseek.audit.findings.verdicts import verdicts, worst_first
from hideseek.audit.threats import INFORMED, LINKED, OUTSIDER, seen_by, threat_of, threats_to
from hideseek.chance import seeded
from hideseek.hide import Mixup
from hideseek.records import Contents, EncodedRelease
from hideseek.records.result import AttackResult, Figure, Harm, Outcome, Proof, Range, Threat
from hideseek.seek import ATTACKS
from toys import images

THREATS = threats_to(EncodedRelease)
GIVEN = {threat.name: threat.gives for threat in THREATS}
OF_ROWS = [threat for threat in THREATS if set(threat.gives) <= set(EncodedRelease.withheld)]
GALLERY = ("candidates",)


def finding(harm: Harm, beats: bool, given: tuple[str, ...] = (), extent: float = 0.5) -> Figure:
    one = Range(extent, extent, extent, 50)
    return Figure(
        "m", "links", 0, "share", True, "", "", one, {}, "", None, 0.0 if beats else 0.4, harm, beats, given=given
    )


def result(
    attack: str, threat: str, outcome: Outcome, *figures: Figure, given: tuple[str, ...] | None = None
) -> AttackResult:
    """An attack that came to this; where it ran and no figures are named, it found rows to link, or did not."""
    if not figures and outcome in (Outcome.BROKEN, Outcome.LEAKS, Outcome.RESISTED):
        harm = Harm.RECOVERED if outcome is Outcome.BROKEN else Harm.LINKED
        figures = (finding(harm, outcome is not Outcome.RESISTED),)
    worst = max((each.harm for each in figures if each.beats), key=lambda harm: harm.rank, default=Harm.NOTHING)
    given = GIVEN[threat] if given is None else given
    contents = Contents("encoding", 50)
    return AttackResult(attack, "", "", threat, contents, given, outcome, worst, {}, 9.0, 2.0, 0, figures=figures)


def outcomes(*results: AttackResult) -> list[str]:
    return [verdict.outcome.value for verdict in verdicts(results, OF_ROWS)]


def test_what_a_weaker_attacker_finds_every_stronger_one_finds_who_has_attacks_of_his_own() -> None:
    known = [
        result("a", "linked", Outcome.BROKEN),
        result("b", "outsider", Outcome.RESISTED),
        result("c", "informed", Outcome.RESISTED),
    ]
    said = verdicts(known, OF_ROWS)
    assert [verdict.outcome for verdict in said] == ["resisted", "not applicable", "broken", "broken"]
    assert [verdict.by for verdict in said] == ["b", "", "a", "a"]
    assert [verdict.broke for verdict in said] == [(), (), ("a",), ("a",)]
    assert [verdict.resisted for verdict in said] == [("b",), ("b",), ("b",), ("b", "c")]
    assert [verdict.seconds for verdict in said] == [2.0, 2.0, 2.0, 4.0]


def test_where_an_attacker_has_no_attack_of_his_own_a_weaker_ones_word_is_not_his() -> None:
    known = [result("a", "outsider", Outcome.BROKEN), result("b", "linked", Outcome.NOT_APPLICABLE)]
    said = verdicts(known, OF_ROWS)
    assert [verdict.outcome for verdict in said] == ["broken", *["not applicable"] * 3]
    assert {verdict.broke for verdict in said} == {("a",)}  # but the sentence can say what holds for him too
    assert not any(verdict.open for verdict in said)


def test_a_pick_from_a_gallery_is_a_break_by_who_has_the_gallery() -> None:
    """An outsider's attack whose guesses are picked from a gallery; it links rows as well, which he can do alone."""
    pick, missed = (finding(Harm.REIDENTIFIED, beats, GALLERY) for beats in (True, False))
    links, nothing = (finding(Harm.LINKED, beats) for beats in (True, False))
    assert outcomes(result("a", "outsider", Outcome.BROKEN, pick, links))[:2] == ["leaks", "broken"]
    assert outcomes(result("a", "outsider", Outcome.BROKEN, pick, nothing))[:2] == ["resisted", "broken"]
    assert outcomes(result("a", "outsider", Outcome.LEAKS, missed, links))[:2] == ["leaks", "leaks"]
    assert outcomes(result("a", "outsider", Outcome.RESISTED, missed, nothing))[:2] == ["resisted", "resisted"]
    only = verdicts([result("a", "outsider", Outcome.BROKEN, pick)], OF_ROWS)
    assert [verdict.outcome for verdict in only[:2]] == ["not applicable", "broken"]  # no finding of his own
    assert (only[0].resisted, only[1].by) == ((), "a")
    assert outcomes(result("a", "linked", Outcome.BROKEN, pick)) == [
        "not applicable",
        "not applicable",
        "broken",
        "not applicable",
    ]


def test_what_breaks_goes_before_what_leaks() -> None:
    known = [
        result("a", "outsider", Outcome.LEAKS),
        result("b", "informed", Outcome.BROKEN, finding(Harm.RECOVERED, True), finding(Harm.LINKED, True)),
    ]
    said = verdicts(known, OF_ROWS)
    assert [verdict.outcome for verdict in said] == ["leaks", "not applicable", "not applicable", "broken"]
    assert (said[3].broke, said[3].leaked, said[3].by) == (("b",), ("a",), "b")


def test_attackers_need_not_nest() -> None:
    """A client and an eavesdropper know different things: what one finds, the other may not."""
    client, listener = Threat("client", "", "", ("model",)), Threat("listener", "", "", ("traffic",))
    nobody, both = Threat("nobody", "", ""), Threat("both", "", "", ("model", "traffic"))
    known = [
        result("a", "client", Outcome.BROKEN, given=("model",)),
        result("b", "both", Outcome.RESISTED, given=("model", "traffic")),
    ]
    said = verdicts(known, (nobody, client, listener, both))
    assert [verdict.outcome for verdict in said] == ["not applicable", "broken", "not applicable", "broken"]


def test_no_verdict_says_more_than_is_known() -> None:
    said = verdicts([result("a", "outsider", Outcome.FAILED), result("b", "linked", Outcome.WITHHELD)], OF_ROWS)
    assert [verdict.outcome for verdict in said] == ["failed", "failed", "withheld", "not applicable"]
    assert [verdict.missing for verdict in said] == [("a",), ("a",), ("a", "b"), ("a", "b")]
    assert [verdict.open for verdict in said] == [True, True, True, False]
    assert outcomes(result("a", "outsider", Outcome.NOT_APPLICABLE), result("b", "linked", Outcome.RESISTED)) == [
        "not applicable",
        "not applicable",
        "resisted",
        "not applicable",
    ]
    known = [result("a", "outsider", Outcome.RESISTED), result("b", "outsider", Outcome.FAILED)]
    mixed = verdicts(known, OF_ROWS)[0]
    assert (mixed.outcome, mixed.missing, mixed.seconds, mixed.open) == ("resisted", ("b",), 2.0, False)


def test_what_was_not_tried_leaves_the_question_open() -> None:
    untried = result("a", "outsider", Outcome.NOT_TRIED)
    others = [result("b", "outsider", Outcome.FAILED), result("c", "outsider", Outcome.WITHHELD)]
    assert outcomes(untried, *others)[0] == "not tried"
    some = verdicts([untried, result("d", "outsider", Outcome.RESISTED)], OF_ROWS)[0]
    assert (some.outcome, some.resisted, some.not_tried, some.open) == ("resisted", ("d",), ("a",), True)
    stronger = verdicts([result("d", "outsider", Outcome.BROKEN), result("e", "linked", Outcome.NOT_TRIED)], OF_ROWS)
    assert (stronger[2].outcome, stronger[2].not_tried, stronger[2].open) == ("broken", ("e",), False)
    weaker = verdicts([result("d", "outsider", Outcome.RESISTED), result("e", "linked", Outcome.NOT_TRIED)], OF_ROWS)
    assert [each.outcome for each in weaker] == ["resisted", "not applicable", "not tried", "not applicable"]


def test_what_an_attack_would_have_found_that_did_not_run_is_seen_in_its_proofs() -> None:
    """Without proofs it may have been anything, so a pick from a gallery too."""
    untried = result("a", "outsider", Outcome.NOT_TRIED)
    assert outcomes(untried)[:2] == ["not tried", "not tried"]
    proof = Proof("weak case", True, None, (finding(Harm.LINKED, True),))
    assert outcomes(replace(untried, proofs=(proof,)))[:2] == ["not tried", "not applicable"]
    proof = replace(proof, figures=(finding(Harm.REIDENTIFIED, True, GALLERY), *proof.figures))
    assert outcomes(replace(untried, proofs=(proof,)))[:2] == ["not tried", "not tried"]


def test_the_worst_comes_first() -> None:
    known = [
        result("resisted", "outsider", Outcome.RESISTED),
        result("links", "outsider", Outcome.LEAKS),
        result("few", "outsider", Outcome.BROKEN, finding(Harm.RECOVERED, True, extent=0.1)),
        result("most", "informed", Outcome.BROKEN, finding(Harm.RECOVERED, True, extent=0.9)),
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


@pytest.mark.parametrize("name", ROW_ATTACKS)
def test_every_attack_belongs_to_the_weakest_attacker_who_has_what_it_needs(name: str) -> None:
    release, secret = Mixup(k=3).hide(images(10), None, seeded(0))
    chosen = threat_of(ATTACKS[name])

    def lacks(threat: Threat) -> list[str]:
        given = seen_by(threat, release, secret)
        return [need for need in ATTACKS[name].needs if getattr(given, need) is None and need != "public"]

    assert lacks(chosen) == []
    assert all(lacks(threat) for threat in THREATS if chosen.covers(threat) and threat != chosen)
