"""The verdict in one sentence."""

from dataclasses import replace
from pathlib import Path

from hideseek.report.page.page import headline
from report.pieces import tried
from report.results import sample


def test_the_sentence(tmp_path: Path) -> None:
    result = sample(tmp_path)
    mixup, cross, noise, _ = result.schemes
    assert headline(result).startswith(
        "2 of 4 ways of sharing are broken by an attacker who sees only what is shared, 1 more by one who knows more; "
        "the worst, mixup: 96 % of its guesses are the private image"
    )
    assert "is broken by" in headline(replace(result, schemes=(cross, noise)))
    informed = replace(
        cross, attacks=(tried("x", outcome="broken", threat="informed", harm=4, sentence="it found it; and more"),)
    )
    assert headline(replace(result, schemes=(informed,))) == (
        "The one way of sharing is broken by an attacker who knows more than what is shared, and no other was tried; "
        f"the worst, {cross.name}: it found it."
    )
    resisting = replace(noise, attacks=(tried("y", outcome="resisted", threat="outsider"),))
    assert headline(replace(result, schemes=(informed, resisting))) == (
        f"None of 2 ways of sharing is broken by an attacker who sees only what is shared, 1 by one who knows more; "
        f"the worst, {cross.name}: it found it."
    )
    unknown = replace(noise, attacks=noise.attacks[1:])
    assert headline(replace(result, schemes=(unknown, mixup))).count("1 could not be judged") == 1
    assert headline(replace(result, schemes=(unknown,))).startswith("No attack ran to its end")
    resisted = headline(replace(result, schemes=(noise, noise)))
    assert "resisted these attacks at this budget, which proves nothing about others" in resisted
