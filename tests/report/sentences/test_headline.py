"""The verdict in one sentence."""

from dataclasses import replace
from pathlib import Path

from hideseek.records.result import Harm, Outcome
from hideseek.report.sentences import headline
from report.pieces import attacked, figure
from report.results import sample


def test_the_sentence(tmp_path: Path) -> None:
    result = sample(tmp_path)
    mixup, cross, noise, _ = result.schemes
    assert headline(result) == (
        "2 of 4 ways of sharing are broken by an attacker who sees only what is shared, 1 more by one who knows more; "
        "the worst, mixup: 95.0 % of its guesses are the private image (correlation of 0.9 or more)."
    )
    assert "is broken by" in headline(replace(result, schemes=(cross, noise)))
    worst = figure("other", finding="it found {value} of {images}", harm=Harm.TOLD_APART)
    informed = replace(
        cross,
        attacks=(
            attacked("x", outcome=Outcome.BROKEN, threat="informed", harm=Harm.TOLD_APART, figures=(figure(), worst)),
        ),
    )
    assert headline(replace(result, schemes=(informed,))) == (
        "The one way of sharing is broken by an attacker who knows more than what is shared, and no other was tried; "
        f"the worst, {cross.name}: it found 0.84 of 160."
    )
    resisting = replace(noise, attacks=(attacked("y", threat="outsider"),))
    assert headline(replace(result, schemes=(informed, resisting))) == (
        f"None of 2 ways of sharing is broken by an attacker who sees only what is shared, 1 by one who knows more; "
        f"the worst, {cross.name}: it found 0.84 of 160."
    )
    unknown = replace(noise, attacks=noise.attacks[1:])
    assert headline(replace(result, schemes=(unknown, mixup))).count("1 could not be judged") == 1
    assert headline(replace(result, schemes=(unknown,))).startswith("No attack ran to its end")
    resisted = headline(replace(result, schemes=(noise, noise)))
    assert "resisted these attacks at this budget, which proves nothing about others" in resisted


def test_the_weakest_attacker_need_not_come_first(tmp_path: Path) -> None:
    result = sample(tmp_path)
    assert headline(replace(result, threats=result.threats[::-1])) == headline(result)
