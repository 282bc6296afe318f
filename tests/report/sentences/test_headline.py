"""The verdict in one sentence: each of its cases, by schemes whose verdicts are made from what attacks found."""

from dataclasses import replace
from typing import Any

from hideseek.audit.findings.verdicts import verdicts
from hideseek.audit.threats import THREATS
from hideseek.records.result import AttackResult, Harm, Outcome, Result, SchemeResult
from hideseek.report.sentences import headline
from report.pieces import attacked, figure

GIVEN = {threat.name: threat.gives for threat in THREATS}
GALLERY: dict[str, Any] = {
    "given": ("candidates",),
    "harm": Harm.REIDENTIFIED,
    "finding": "{value} are picked of {images}",
}


def came_to(outcome: Outcome, name: str = "a", threat: str = "outsider") -> AttackResult:
    """An attack of this outcome: it recovers images, links rows, or finds nothing."""
    harm = {Outcome.BROKEN: Harm.RECOVERED, Outcome.LEAKS: Harm.LINKED}.get(outcome, Harm.LIKENESS)
    mean = 0.3 if outcome is Outcome.RESISTED else 0.9
    figures = (figure("m", mean, harm=harm, finding="it found {value} of {images}"),)
    ran = outcome in (Outcome.BROKEN, Outcome.LEAKS, Outcome.RESISTED)
    worst = figures[0].harm if ran and figures[0].beats else Harm.NOTHING
    return attacked(
        name, outcome=outcome, harm=worst, threat=threat, given=GIVEN[threat], figures=figures if ran else (), proofs=()
    )


def picked(name: str = "a", threat: str = "outsider") -> AttackResult:
    """An attack whose guesses are picked from a gallery, and which finds nothing else."""
    pick, nothing = figure("picked", 0.9, **GALLERY), figure(mean=0.3)
    return replace(came_to(Outcome.BROKEN, name, threat), figures=(pick, nothing), harm=Harm.REIDENTIFIED)


def said(result: Result, *schemes: tuple[AttackResult, ...]) -> str:
    """The headline of schemes that these attacks were run on, called s0, s1 …"""
    made = [
        replace(result.schemes[0], name=f"s{number}", attacks=attacks, verdicts=verdicts(attacks, THREATS))
        for number, attacks in enumerate(schemes)
    ]
    return headline(replace(result, schemes=tuple(made)))


BROKEN, LEAKS, RESISTED = ((came_to(each),) for each in (Outcome.BROKEN, Outcome.LEAKS, Outcome.RESISTED))
UNTRIED, FAILED, NONE = ((came_to(each),) for each in (Outcome.NOT_TRIED, Outcome.FAILED, Outcome.NOT_APPLICABLE))
OUTSIDER = "broken by an attacker who sees only what is shared"
FOUND = "it found 0.90 of 160"


def test_the_sentence(result: Result) -> None:
    assert headline(result) == (
        "1 of 4 ways of sharing is broken by an attacker who sees only what is shared, 1 more by one who also has"
        " candidate images; 1 leaks (parts found); 1 is open: mixup-pairs was not tried;"
        " the worst, mixup: 95.0 % of its guesses are the private image (correlation of 0.9 or more)."
    )


def test_one_all_and_some_are_broken(result: Result) -> None:
    assert said(result, BROKEN) == f"The one way of sharing is {OUTSIDER}; the worst, s0: {FOUND}."
    assert said(result, BROKEN, BROKEN) == f"Both ways of sharing are {OUTSIDER}; the worst, s0: {FOUND}."
    assert said(result, RESISTED, BROKEN) == (
        f"1 of 2 ways of sharing is {OUTSIDER}; 1 resisted; the worst, s1: {FOUND}."
    )
    assert said(result, BROKEN, LEAKS, LEAKS, UNTRIED, RESISTED) == (
        f"1 of 5 ways of sharing is {OUTSIDER}; 2 leak (rows linked); 1 resisted; 1 is open: a was not tried;"
        f" the worst, s0: {FOUND}."
    )


def test_who_breaks_it(result: Result) -> None:
    """A gallery is not the outsider's; who knows the mix comes last; the worst is what the weakest of them finds."""
    mix = (came_to(Outcome.RESISTED), came_to(Outcome.BROKEN, "b", "informed"))
    assert said(result, (picked(),)) == (
        "The one way of sharing is not broken by an attacker who sees only what is shared, but by one who also has"
        " candidate images; the worst, s0: 0.90 are picked of 160."
    )
    assert said(result, mix, (picked(),), BROKEN) == (
        f"1 of 3 ways of sharing is {OUTSIDER}, 1 more by one who also has candidate images, 1 more by one who also"
        f" knows the mix; the worst, s2: {FOUND}."
    )
    assert said(result, mix, RESISTED) == (
        f"Neither way of sharing is {OUTSIDER}, 1 by one who also knows the mix; 1 resisted; the worst, s0: {FOUND}."
    )


def test_where_no_weaker_attacker_was_tried_that_is_said(result: Result) -> None:
    mix = (came_to(Outcome.BROKEN, threat="informed"), came_to(Outcome.NOT_APPLICABLE, "b"))
    assert said(result, mix) == (
        "The one way of sharing is broken by an attacker who also knows the mix, the weakest who was tried;"
        f" the worst, s0: {FOUND}."
    )


def test_leaks_only(result: Result) -> None:
    assert said(result, LEAKS) == (
        "The one way of sharing is not broken by these attacks at this budget; it leaks (rows linked);"
        f" the worst, s0: {FOUND}."
    )
    mix = (came_to(Outcome.LEAKS, "b", "informed"),)
    assert said(result, LEAKS, mix, RESISTED) == (
        "None of 3 ways of sharing is broken by these attacks at this budget;"
        f" 2 leak (rows linked; rows linked, to one who also knows the mix); 1 resisted; the worst, s0: {FOUND}."
    )


def test_resisted_is_not_said_of_what_is_open(result: Result) -> None:
    proves = "resisted these attacks at this budget, which proves nothing about others"
    assert said(result, RESISTED) == f"The one way of sharing {proves}."
    assert said(result, RESISTED, RESISTED) == f"Both ways of sharing {proves}."
    assert said(result, RESISTED, UNTRIED) == f"1 of 2 ways of sharing {proves}; 1 is open: a was not tried."
    assert said(result, RESISTED, FAILED) == (
        f"1 of 2 ways of sharing {proves}; 1 is open: a failed or could not be believed."
    )
    assert said(result, RESISTED, NONE) == f"1 of 2 ways of sharing {proves}; 1 is open: no attack applies."
    some = (*RESISTED, *(came_to(Outcome.NOT_TRIED, name) for name in "bcdef"))
    assert said(result, some) == "The one way of sharing is open: b, c, d and 2 others were not tried."
    assert said(result, some, some) == "Both ways of sharing are open: b, c, d and 2 others were not tried."


def test_no_attack_ran(result: Result) -> None:
    nothing = "No attack ran to its end, so nothing is known of"
    assert said(result, UNTRIED) == f"{nothing} the one way of sharing: a was not tried."
    assert said(result, FAILED, FAILED) == f"{nothing} 2 ways of sharing: a failed or could not be believed."
    assert said(result, NONE) == f"{nothing} the one way of sharing: no attack applies."
    assert said(result) == f"{nothing} 0 ways of sharing."


def test_the_weakest_attacker_need_not_come_first(result: Result) -> None:
    assert headline(replace(result, threats=result.threats[::-1])) == headline(result)


def test_a_verdict_without_its_attack_is_said_too(result: Result) -> None:
    """A stranger's file may name attacks that it does not have."""
    gone: SchemeResult = replace(result.schemes[0], attacks=result.schemes[3].attacks[:1])
    assert headline(replace(result, schemes=(gone,))).endswith("; the worst is mixup.")
