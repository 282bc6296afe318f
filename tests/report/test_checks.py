"""Checks that distrust an audit: each finds what it is for, and nothing in an audit that is sound."""

from dataclasses import replace
from pathlib import Path

import pytest

from hideseek.records import Effective
from hideseek.records.result import AttackResult, Figure, Harm, Outcome, Range, Result, SchemeResult, Threat
from hideseek.report import sentences
from hideseek.report.checks import flags
from report import pieces
from report.results import sample


@pytest.fixture
def sound(tmp_path: Path) -> Result:
    """An audit of one scheme, with an attack by an outsider that resisted, about which there is nothing to say."""
    result = sample(tmp_path)
    scheme = replace(result.schemes[0], attacks=(attacked("a", "outsider"),), effective=(), advice=())
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
    return pieces.figure(metric, found=found, baselines={"mean image": 0.4}, advantage=better, p_value=0.2, beats=False)


def attacked(attack: str, threat: str, *figures: Figure) -> AttackResult:
    return pieces.attacked(attack, threat=threat, figures=figures or (figure(),))


def found(result: Result) -> list[tuple[str, str]]:
    return [(part.kind.value, part.subject) for part in sentences.flags(flags(result))]


def with_scheme(result: Result, **changes: object) -> Result:
    scheme: SchemeResult = replace(result.schemes[0], **changes)  # type: ignore[arg-type]
    return replace(result, schemes=(scheme,))


def test_a_sound_audit_has_no_flags(sound: Result) -> None:
    assert found(sound) == []


def test_a_seed(sound: Result) -> None:
    seeded = replace(sound, provenance=replace(sound.provenance, seed=7))
    assert found(seeded) == [("reproducible", "")]
    assert "the seed 7" in sentences.flag(flags(seeded)[0])


def test_public_or_own_images_among_the_private_ones(sound: Result) -> None:
    assert sound.public is not None
    public = replace(sound.public, overlap=3)
    mixed, own = replace(sound, public=public), replace(sound, own=public)
    assert found(mixed) == found(own) == [("overlap", "")]
    assert "3 of the 400 public images are private, too" in sentences.flag(flags(mixed)[0])
    assert "3 of the 400 images of the attacker's own are private, too" in sentences.flag(flags(own)[0])


def test_few_images(sound: Result) -> None:
    name = sound.schemes[0].name
    assert found(replace(sound, private=replace(sound.private, images=10))) == [("few images", "")]
    few = with_scheme(sound, attacks=(attacked("a", "outsider", figure(images=6)),))
    assert found(few) == [("few images", f"{name}/a")]


def test_nothing_was_learnt(sound: Result) -> None:
    assert sound.vanilla is not None
    assert sound.trained_on is not None
    chance = 1 / sound.trained_on.classes
    vanilla = replace(sound.vanilla, accuracy=Range(chance, chance - 0.05, chance + 0.05, 100))
    assert found(replace(sound, vanilla=vanilla)) == [("nothing learnt", "")]
    largest = replace(sound.vanilla, largest_class=sound.vanilla.accuracy.mean)
    assert found(replace(sound, vanilla=largest)) == [("nothing learnt", "")]


def test_a_parameter_that_is_not_what_it_says(sound: Result) -> None:
    name = sound.schemes[0].name
    same, other = Effective("tau", 1e-2, 1.2e-2, "…"), Effective("tau", 1e-6, 2.2, "the ratio of a row")
    assert found(with_scheme(sound, effective=(same,))) == []
    wrong = with_scheme(sound, effective=(other,))
    assert found(wrong) == [("effective value", name)]
    assert "stated as 1e-06 and is 2.2 in what is shared" in sentences.flag(flags(wrong)[0])


def test_a_weaker_attacker_who_beats_a_stronger_one(sound: Result) -> None:
    name = sound.schemes[0].name
    sure = replace(figure(0.9, advantage=0.5), beats=True)
    attacks = (
        replace(attacked("weak", "outsider", sure), outcome=Outcome.BROKEN),
        attacked("strong", "linked", figure(0.5)),
    )
    assert found(with_scheme(sound, attacks=attacks)) == [("weaker beats stronger", f"{name}/strong")]
    (raised,) = flags(with_scheme(sound, attacks=attacks))
    assert sentences.flag(raised).startswith("weak knows less than strong and beats it (fitted-ssim 0.90 against 0.50)")
    sure = replace(figure(0.51, advantage=0.04), beats=True)  # the intervals of the two advantages overlap
    near = (
        replace(attacked("weak", "outsider", sure), outcome=Outcome.BROKEN),
        attacked("strong", "linked", figure(0.5)),
    )
    assert found(with_scheme(sound, attacks=near)) == []


def test_attackers_are_compared_by_whatever_metric_shows_a_likeness(sound: Result) -> None:
    sure = [replace(figure(0.9, advantage=0.5, metric=name), beats=True) for name in ("sharpness", "colours")]
    weak = replace(attacked("weak", "outsider", *sure), outcome=Outcome.BROKEN)
    strong = attacked("strong", "linked", *(figure(0.5, metric=each.metric) for each in sure))
    (raised,) = flags(with_scheme(sound, attacks=(weak, strong)))  # one harm, one reason
    assert (raised.attack, raised.facts["metric"]) == ("strong", "sharpness")
    linked = [
        replace(each, figures=tuple(replace(one, harm=Harm.LINKED) for one in each.figures)) for each in (weak, strong)
    ]
    assert found(with_scheme(sound, attacks=tuple(linked))) == []


def test_attackers_who_know_different_things_are_not_compared(sound: Result) -> None:
    name = sound.schemes[0].name
    sure = replace(figure(0.9, advantage=0.5), beats=True)
    attacks = (
        replace(attacked("one", "server", sure), outcome=Outcome.BROKEN),
        attacked("other", "client", figure(0.5)),
    )
    server, client = Threat("server", "", "", ("updates",)), Threat("client", "", "", ("models",))
    scheme = replace(sound.schemes[0], attacks=attacks)
    assert found(replace(sound, threats=(server, client), schemes=(scheme,))) == []
    more = replace(client, gives=("models", "updates"))
    assert found(replace(sound, threats=(more, server), schemes=(scheme,))) == [
        ("weaker beats stronger", f"{name}/other")
    ]
    equal = replace(client, gives=("updates",))
    assert found(replace(sound, threats=(server, equal), schemes=(scheme,))) == []


def test_an_attack_that_may_be_better_than_its_baseline(sound: Result) -> None:
    name = sound.schemes[0].name
    near = attacked("a", "outsider", figure(advantage=0.05))
    assert found(with_scheme(sound, attacks=(near,))) == [("not significant", f"{name}/a")]


def test_an_attack_under_its_baseline(sound: Result) -> None:
    name = sound.schemes[0].name
    under = attacked("a", "outsider", figure(0.3, advantage=-0.1))
    assert found(with_scheme(sound, attacks=(under,))) == [("under its baseline", f"{name}/a")]
    assert found(with_scheme(sound, attacks=(replace(under, outcome=Outcome.BROKEN),))) == []  # something else broke it


def test_attacks_that_say_nothing(sound: Result) -> None:
    name = sound.schemes[0].name
    lost = [replace(attacked(each, "outsider"), outcome=Outcome.FAILED, figures=()) for each in "ab"]
    doubted = replace(attacked("c", "outsider"), outcome=Outcome.WITHHELD, figures=())
    untried = [replace(attacked(each, "outsider"), outcome=Outcome.NOT_TRIED, figures=()) for each in "de"]
    audit = with_scheme(sound, attacks=(*lost, doubted, *untried))
    assert found(audit) == [("failed", name), ("withheld", f"{name}/c"), ("not tried", name)]
    raised = flags(audit)
    assert [flag.attack for flag in raised] == ["a", "b", "c", "d", "e"]
    failed, _, open_ones = sentences.flags(raised)
    assert failed.sentence.startswith("a and b failed or could not be judged")
    assert open_ones.sentence.startswith("No time for d and e, or not to the end")
