"""The order of a leaderboard, and what it says."""

from dataclasses import replace
from math import exp

import pytest
from scipy.stats import norm

from hideseek.bench import QUICK, Evidence, as_markdown, ranked, worst_of
from hideseek.records.result import Outcome, Result, Verdict
from hideseek.records.spent import Spent


def _as(entry: Evidence, name: str, outcome: Outcome, threat: str = "informed", correct: float = 0.5) -> Evidence:
    """Give an entry of another name, with what one attacker comes to."""
    assert entry.result is not None
    (scheme,) = entry.result.schemes
    verdicts = tuple(
        Verdict(each.threat, outcome, scheme.attacks[0].attack)
        if each.threat == threat
        else Verdict(each.threat, Outcome.RESISTED, scheme.attacks[0].attack)
        for each in scheme.verdicts
    )
    result: Result = replace(entry.result, schemes=(replace(scheme, name=name, verdicts=verdicts),))
    accuracy = entry.entry.accuracies[0]
    right = replace(accuracy.accuracy, mean=correct, low=correct - 0.01, high=correct + 0.01)
    learnt = replace(accuracy, accuracy=right, largest_class=0.1)
    return replace(entry, entry=replace(entry.entry, name=name, accuracies=(learnt,)), result=result)


def test_the_order_is_who_breaks_it_then_accuracy(entry: Evidence) -> None:
    found = [
        _as(entry, "learns nothing", Outcome.RESISTED, correct=0.1),
        _as(entry, "by an outsider", Outcome.BROKEN, "outsider", 0.9),
        _as(entry, "by the informed", Outcome.BROKEN, "informed", 0.4),
        _as(entry, "by the informed, more accurate", Outcome.BROKEN, "informed", 0.6),
        _as(entry, "leaks", Outcome.LEAKS, "outsider", 0.3),
        _as(entry, "resisted", Outcome.RESISTED, correct=0.2),
    ]
    assert [line.entry.name for line in ranked(found)] == [
        "resisted",
        "leaks",
        "by the informed, more accurate",
        "by the informed",
        "by an outsider",
        "learns nothing",
    ]


def test_what_is_said_of_an_attacker_is_what_he_does(entry: Evidence) -> None:
    """The weakest who breaks it has another attack than the strongest, whose finding is not his."""
    assert entry.result is not None
    (scheme,) = entry.result.schemes
    assert {each.attack for each in scheme.attacks if each.outcome is Outcome.BROKEN} == {"linear-inversion"}
    other = next(each for each in scheme.attacks if each.attack == "average-known")
    linear = next(each for each in scheme.attacks if each.attack == "linear-inversion")
    broken = replace(other, outcome=Outcome.BROKEN, harm=linear.harm, figures=linear.figures[:1])
    attacks = tuple(broken if each is other else each for each in scheme.attacks)
    verdicts = tuple(
        Verdict(each.threat, Outcome.BROKEN, "linear-inversion" if each.threat == "informed" else "average-known")
        if each.threat in ("linked", "informed")
        else each
        for each in scheme.verdicts
    )
    result = replace(entry.result, schemes=(replace(scheme, attacks=attacks, verdicts=verdicts),))
    assert worst_of(replace(entry, result=result)).startswith(
        "broken by average-known, an attacker who also knows which"
    )


def test_open_questions_never_count_as_resisted(entry: Evidence) -> None:
    tried = _as(entry, "resisted", Outcome.RESISTED)
    untried = _as(entry, "open", Outcome.NOT_TRIED)
    assert [line.outcome for line in ranked([untried, tried])] == [Outcome.RESISTED, Outcome.NOT_TRIED]


def test_tables_say_what_was_found_and_escape_names(entry: Evidence) -> None:
    text = as_markdown(QUICK["rows"], [entry, _as(entry, "x|<b>`\n", Outcome.LEAKS)], "../of rows")
    assert "**broken** for *informed*: linear-inversion (recovered 100.0 %)" in text
    assert "- **informed** also knows the mix." in text
    assert "- recovered: the share of guesses that are the private image" in text
    assert "([picture](../of%20rows/mixup/found.png))" in text
    assert "x&#124;&lt;b>'" in text
    heads = [line.count(" | ") for line in text.splitlines() if line.startswith("| ")]
    assert len(set(heads[:4])) == 1


def test_what_is_proved_is_shown(entry: Evidence) -> None:
    proved = replace(entry, entry=replace(entry.entry, spent=Spent("gaussian", mu2=1.0)))
    epsilon = 4.38
    delta = norm.cdf(-epsilon + 0.5) - exp(epsilon) * norm.cdf(-epsilon - 0.5)  # of 1-GDP (Dong et al. 2022, Cor. 2.13)
    assert delta == pytest.approx(1e-5, rel=0.02)
    assert "| ε ≤ 4.38 (δ = 1e-05) |" in as_markdown(QUICK["rows"], [proved])
