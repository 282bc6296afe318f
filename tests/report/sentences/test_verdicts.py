"""What is said of a scheme against each attacker: verdicts, what would have been shown, and whom a finding takes."""

from dataclasses import replace

from hideseek.records.result import Harm, Outcome, Result, Verdict
from hideseek.report import sentences
from report.pieces import figure


def test_verdicts(result: Result) -> None:
    scheme = result.schemes[0]

    def said(verdict: Verdict) -> str:
        return sentences.verdict(verdict, scheme, 160, result.threats)

    leaks = Verdict("linked", Outcome.LEAKS, "distinguish", leaked=("distinguish", "x"), missing=("z",))
    told = "It names the image that a row was made for in 50.0 % of rows (0.6 % for mean image)."
    assert said(leaks) == (f"{told} It also leaks by x. No private image came back. z failed or could not be believed.")
    broken = replace(leaks, outcome=Outcome.BROKEN, broke=("distinguish", "y"), leaked=("x",))
    assert said(broken) == f"{told} It is also broken by y. It also leaks by x."
    assert said(replace(broken, by="gone", broke=("gone",), leaked=())) == "It is broken."
    resisted = Verdict("outsider", Outcome.RESISTED, "a", resisted=("a", "b", "c"), missing=("d", "e"), seconds=12.3)
    assert said(resisted) == (
        "It resisted a, b and c, 12 s in all; another attack, or more time, may do better."
        " d and e failed or could not be believed."
    )
    assert said(replace(resisted, missing=(), not_tried=("f", "g"))).endswith(" f and g were not tried: that is open.")
    for outcome in (Outcome.FAILED, Outcome.WITHHELD):
        unknown = Verdict("outsider", outcome, "", missing=("d",))
        assert said(unknown) == "Nothing is known. d failed or could not be believed."
    untried = Verdict("outsider", Outcome.NOT_TRIED, "", not_tried=("d",))
    assert said(untried) == "Nothing is known. d was not tried: that is open."


def test_a_verdict_tells_of_an_attacker_what_he_can_find(result: Result) -> None:
    """The outsider has no gallery; the same words are not said twice."""
    scheme = result.schemes[0]
    outsider, candidates, linked, _ = scheme.verdicts
    told = [sentences.verdict(each, scheme, 160, result.threats) for each in (outsider, candidates)]
    assert ["point to their image" in each for each in told] == [False, True]
    assert sentences.verdict(candidates, scheme, 160, result.threats, outsider) == told[1]
    again = replace(candidates, threat="informed")
    assert sentences.verdict(again, scheme, 160, result.threats, candidates) == "As for the attacker before."
    assert sentences.verdict(linked, scheme, 160, result.threats, candidates).endswith("It also leaks by distinguish.")


def test_an_attacker_without_an_attack_of_his_own_is_told_what_holds_for_him(result: Result) -> None:
    scheme = result.schemes[0]
    nothing = Verdict("outsider", Outcome.NOT_APPLICABLE, "")
    inherits = replace(nothing, broke=("a", "b"), leaked=("c",))
    assert sentences.verdict(nothing, scheme, 160, result.threats) == "No attack of this audit applies to this scheme."
    assert sentences.verdict(inherits, scheme, 160, result.threats) == (
        "No attack of this audit that uses what he knows besides applies to this scheme; what weaker attackers found"
        " holds for him too: it is broken by a and b and it leaks by c."
    )
    assert sentences.verdict(replace(nothing, resisted=("a",)), scheme, 160, result.threats).endswith("for him too.")
    beside = [sentences.beside(each) for each in (inherits, replace(inherits, broke=()), nothing)]
    assert beside == ["weaker ones: broken", "weaker ones: leaks", ""]
    some = Verdict("outsider", Outcome.RESISTED, "a", resisted=("a",), not_tried=("b", "c"))
    assert (sentences.beside(some), sentences.beside(replace(some, outcome=Outcome.BROKEN))) == ("2 not tried", "")


def test_the_smallest_effect_that_would_have_been_shown(result: Result) -> None:
    auc = figure("auc", 0.52, 0.5, harm=Harm.LINKED, best_baseline="chance", baselines={"chance": 0.5}, beats=False)
    auc = replace(auc, smallest=0.56)
    back = figure("recovered", 0.0, 0.01, unit="share", harm=Harm.RECOVERED, smallest=0.031)
    distance = figure("l2", 9.0, 8.0, higher_is_better=False, harm=Harm.PARTS, smallest=7.5, beats=False)
    shown, unknown = replace(auc, metric="tpr", beats=True), replace(auc, metric="ap", smallest=None)
    figures = (auc, shown, unknown, distance, back, replace(auc, number=1, smallest=0.9))
    assert sentences.smallest(figures) == (
        "recovered ≥ 3.1 %, 1.0 % by mean image; auc ≥ 0.56, 0.50 by chance; l2 ≤ 7.50, 8.00 by mean image"
    )
    assert sentences.smallest((shown, unknown)) == ""
    scheme = result.schemes[3]
    assert sentences.verdict(scheme.verdicts[0], scheme, 160, result.threats).startswith(
        "It resisted mixup-pairs (would have shown fitted-ssim ≥ 0.35, 0.31 by mean image) and average-search,"
    )


def test_whom_a_finding_takes(result: Result) -> None:
    """Where the worst finding takes more than the attack does: who breaks the scheme, and what others find."""
    _, inversion, search = result.schemes[3].attacks
    assert sentences.by_whom(inversion, result.threats) == ""  # who knows the mix has candidates too
    broken = "Broken by an attacker who also has candidate images; "
    assert sentences.by_whom(search, result.threats) == f"{broken}nothing is found by one who sees only what is shared."
    links = replace(search, figures=(*search.figures, figure("auc", harm=Harm.LINKED)))
    assert sentences.by_whom(links, result.threats) == f"{broken}it leaks to one who sees only what is shared."
    assert sentences.worst("s", search, 160, result.threats) == (
        "s: broken by an attacker who also has candidate images; average-search (10 min 40 s, 312 MiB):"
        " 12.0 % of its guesses point to their image among 160 (0.6 % for mean image)."
    )
