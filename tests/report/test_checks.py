"""Checks that distrust an audit: each finds what it is for, and nothing in an audit that is sound."""

from dataclasses import replace
from pathlib import Path

import pytest

from hideseek.records.result import AttackResult, Effective, Figure, Range, Result, SchemeResult
from hideseek.report.checks import flags
from report.results import sample


@pytest.fixture
def sound(tmp_path: Path) -> Result:
    """An audit of one scheme, with an attack by an outsider that resisted, about which there is nothing to say."""
    result = sample(tmp_path)
    scheme = replace(result.schemes[0], attacks=(tried("a", "outsider"),), effective=(), advice=())
    assert result.public is not None
    return replace(
        result,
        schemes=(scheme,),
        private=replace(result.private, images=160),
        public=replace(result.public, overlap=0),
        own=None,
        provenance=replace(result.provenance, seed=None),
    )


def figure(mean: float = 0.5, images: int = 50, advantage: float = 0.01, metric: str = "fitted-ssim") -> Figure:
    found = Range(mean, mean - 0.02, mean + 0.02, images)
    better = Range(advantage, advantage - 0.02, advantage + 0.02, images)
    return Figure(
        metric, "Reconstruction", 0, "", True, "", found, {"mean image": 0.4}, "mean image", better, 0.2, True, False
    )


def tried(attack: str, threat: str, *figures: Figure) -> AttackResult:
    return AttackResult(attack, "", "", threat, "", "resisted", "", 0, {}, 1.0, 1.0, 0, figures or (figure(),))


def found(result: Result) -> list[tuple[str, str]]:
    return [(flag.check, flag.subject) for flag in flags(result)]


def with_scheme(result: Result, **changes: object) -> Result:
    scheme: SchemeResult = replace(result.schemes[0], **changes)  # type: ignore[arg-type]
    return replace(result, schemes=(scheme,))


def test_a_sound_audit_has_no_flags(sound: Result) -> None:
    assert found(sound) == []


def test_a_seed(sound: Result) -> None:
    seeded = replace(sound, provenance=replace(sound.provenance, seed=7))
    assert found(seeded) == [("reproducible", "")]
    assert "the seed 7" in flags(seeded)[0].sentence


def test_public_or_own_images_among_the_private_ones(sound: Result) -> None:
    assert sound.public is not None
    public = replace(sound.public, overlap=3)
    assert found(replace(sound, public=public)) == [("overlap", "")]
    assert found(replace(sound, own=public)) == [("overlap", "")]


def test_few_images(sound: Result) -> None:
    name = sound.schemes[0].name
    assert found(replace(sound, private=replace(sound.private, images=10))) == [("few images", "")]
    few = with_scheme(sound, attacks=(tried("a", "outsider", figure(images=6)),))
    assert found(few) == [("few images", f"{name}/a")]


def test_nothing_was_learnt(sound: Result) -> None:
    assert sound.vanilla is not None
    assert sound.trained_on is not None
    chance = 1 / sound.trained_on.classes
    vanilla = replace(sound.vanilla, accuracy=Range(chance, chance - 0.05, chance + 0.05, 100))
    assert found(replace(sound, vanilla=vanilla)) == [("nothing learnt", "")]


def test_a_parameter_that_is_not_what_it_says(sound: Result) -> None:
    name = sound.schemes[0].name
    same, other = Effective("tau", 1e-2, 1.2e-2, "…"), Effective("tau", 1e-6, 2.2, "the ratio of a row")
    assert found(with_scheme(sound, effective=(same,))) == []
    wrong = with_scheme(sound, effective=(other,))
    assert found(wrong) == [("effective value", name)]
    assert "stated as 1e-06 and comes to 2.2" in flags(wrong)[0].sentence


def test_a_weaker_attacker_who_beats_a_stronger_one(sound: Result) -> None:
    name = sound.schemes[0].name
    sure = replace(figure(0.9, advantage=0.5), beats=True)
    attacks = (replace(tried("weak", "outsider", sure), outcome="broken"), tried("strong", "linked", figure(0.5)))
    assert found(with_scheme(sound, attacks=attacks)) == [("weaker beats stronger", f"{name}/strong")]
    sure = replace(figure(0.51, advantage=0.04), beats=True)  # the intervals of the two advantages overlap
    near = (replace(tried("weak", "outsider", sure), outcome="broken"), tried("strong", "linked", figure(0.5)))
    assert found(with_scheme(sound, attacks=near)) == []


def test_an_attack_that_may_be_better_than_its_floor(sound: Result) -> None:
    name = sound.schemes[0].name
    near = tried("a", "outsider", figure(advantage=0.05))
    assert found(with_scheme(sound, attacks=(near,))) == [("not beyond doubt", f"{name}/a")]


def test_an_attack_under_its_floor(sound: Result) -> None:
    name = sound.schemes[0].name
    under = tried("a", "outsider", figure(0.3, advantage=-0.1))
    assert found(with_scheme(sound, attacks=(under,))) == [("under its baseline", f"{name}/a")]
    assert found(with_scheme(sound, attacks=(replace(under, outcome="broken"),))) == []  # something else broke it


def test_attacks_that_say_nothing(sound: Result) -> None:
    name = sound.schemes[0].name
    lost = [replace(tried(each, "outsider"), outcome="failed", figures=()) for each in "ab"]
    doubted = replace(tried("c", "outsider"), outcome="withheld", figures=())
    assert found(with_scheme(sound, attacks=(*lost, doubted))) == [("failed", name), ("withheld", f"{name}/c")]
