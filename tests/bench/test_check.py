"""No entry without its evidence: each thing that can be missing is named."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from hideseek.bench import Evidence, flaws
from hideseek.bench.check import attack_flaws
from hideseek.bench.protocol import KNOWN
from hideseek.records.result import AttackResult, Outcome, Result, SchemeResult
from hideseek.seek import settings

Change = Callable[[Evidence], Evidence]


def _result(change: Callable[[Result], Result]) -> Change:
    def changed(evidence: Evidence) -> Evidence:
        assert evidence.result is not None
        return replace(evidence, result=change(evidence.result))

    return changed


def _scheme(change: Callable[[SchemeResult], SchemeResult]) -> Change:
    return _result(lambda result: replace(result, schemes=(change(result.schemes[0]),)))


def _attack(name: str, change: Callable[[AttackResult], AttackResult]) -> Change:
    return _scheme(
        lambda scheme: replace(
            scheme, attacks=tuple(change(each) if each.attack == name else each for each in scheme.attacks)
        )
    )


def _without(name: str) -> Change:
    return _scheme(
        lambda scheme: replace(scheme, attacks=tuple(each for each in scheme.attacks if each.attack != name))
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda each: replace(each, entry=replace(each.entry, protocol="rows-0")), "measured by rows-0"),
        (lambda each: replace(each, entry=replace(each.entry, fingerprint="0")), "another version of rows-small"),
        (lambda each: replace(each, entry=replace(each.entry, accuracies=())), "has 0 of 1 accuracies"),
        (lambda each: replace(each, result=None), "no result.json"),
        (lambda each: replace(each, entry=replace(each.entry, name="laplace")), "not an audit of laplace"),
        (_result(lambda result: replace(result, private=replace(result.private, images=9))), "not of 12 images"),
        (_result(lambda result: replace(result, provenance=replace(result.provenance, seed=1))), "not of the seed 0"),
        (_scheme(lambda scheme: replace(scheme, rounds=1)), "has 1 rounds, not 4"),
        (_without("average-known"), "average-known is not in its audit"),
        (_attack("average-known", lambda each: replace(each, outcome=Outcome.FAILED)), "average-known is failed"),
        (_attack("average-known", lambda each: replace(each, outcome=Outcome.NOT_TRIED)), "average-known is not tried"),
        (_attack("average-known", lambda each: replace(each, settings={"k": 2})), "with other settings than its own"),
        (_attack("average-known", lambda each: replace(each, proofs=each.proofs[:1])), "was not proved"),
        (
            _attack(
                "average-known",
                lambda each: replace(each, proofs=(replace(each.proofs[0], passed=False), *each.proofs[1:])),
            ),
            "was not proved",
        ),
        (_attack("phase-retrieval", lambda each: replace(each, refusal=None)), "does not say why it does not apply"),
    ],
)
def test_what_is_missing_is_named(change: Change, said: str, entry: Evidence) -> None:
    (told,) = flaws(change(entry))
    assert said in told


def test_what_is_broken_needs_a_picture(entry: Evidence, tmp_path: Path) -> None:
    elsewhere = replace(entry, folder=tmp_path)
    assert flaws(elsewhere) == ["it is broken, and has no found.png that can be opened"]
    (tmp_path / "found.png").write_bytes((entry.folder / "found.png").read_bytes()[:200])
    assert flaws(elsewhere) == ["it is broken, and has no found.png that can be opened"]
    Image.new("L", (5000, 1)).save(tmp_path / "found.png")
    assert flaws(elsewhere) == ["found.png is larger than 4096 pixels"]
    Image.new("L", (50, 50)).save(tmp_path / "found.png")
    assert flaws(elsewhere) == []


def test_candidates_that_were_picked_need_no_picture(entry: Evidence, tmp_path: Path) -> None:
    def picked(attack: AttackResult) -> AttackResult:
        return replace(attack, figures=tuple(each for each in attack.figures if each.metric == "re-identified"))

    assert flaws(_attack("linear-inversion", picked)(replace(entry, folder=tmp_path))) == []


def test_settings_are_compared_as_files_have_them(entry: Evidence) -> None:
    """JSON has lists where attacks have tuples, as `gradient-matching` does."""
    matching = KNOWN["gradient-matching"]
    written = json.loads(json.dumps(settings(matching)))
    assert written != settings(matching)
    change = _attack("average-known", lambda each: replace(each, attack="gradient-matching", settings=written))
    changed = change(entry)
    assert changed.result is not None
    attack = next(each for each in changed.result.schemes[0].attacks if each.attack == "gradient-matching")
    assert list(attack_flaws(attack, "gradient-matching")) == []
    other = replace(attack, settings={**written, "restarts": 99})
    assert list(attack_flaws(other, "gradient-matching")) == [
        "gradient-matching was run with other settings than its own"
    ]
