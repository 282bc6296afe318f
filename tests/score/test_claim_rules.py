"""A new claim is one file and one line; rules that lack a part are an error at once."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.records import Claim, Evidence
from hideseek.records.mixing_secret import MixingSecret
from hideseek.records.result import Harm
from hideseek.score import claims
from hideseek.score.claim_rules import (
    ClaimRules,
    no_baselines,
    no_curves,
)
from hideseek.score.claims import CLAIMS, without_rules
from hideseek.score.judge import judge, to_json
from hideseek.score.metrics import METRICS, by_name
from toy_claim import METRIC, RULES, Brightness, brightness


def test_a_new_claim_is_registered_in_one_line(secret: MixingSecret, monkeypatch: pytest.MonkeyPatch) -> None:
    known = Brightness(torch.arange(24), brightness(secret) + 0.001 * seeded(0).normals(24))
    with pytest.raises(BadInput, match="'brightness' cannot be judged"):
        judge(Evidence((known,)), secret, seeded(0))
    monkeypatch.setitem(CLAIMS, "brightness", ClaimRules(**RULES))
    unknown = replace(known, values=seeded(1).normals(24))
    judgement = judge(Evidence((known, unknown)), secret, seeded(0))
    assert [(score.metric, score.claim, score.number, score.beats) for score in judgement.scores] == [
        ("brightness-error", "brightness", 0, True), ("brightness-error", "brightness", 1, False)
    ]  # fmt: skip
    assert list(judgement.scores[0].baselines) == ["mean brightness", "shuffled"]
    assert to_json(judgement)["scores"][0]["meaning"] == "how far off"
    with pytest.raises(BadInput, match="private image 24"):
        judge(Evidence((replace(known, about=known.about + 1),)), secret, seeded(0))


def test_a_new_claim_leaves_the_figures_of_others(secret: MixingSecret, monkeypatch: pytest.MonkeyPatch) -> None:
    from hideseek.records import Attribution

    evidence = Evidence((Attribution(torch.arange(48), torch.arange(24), seeded(0).uniforms(48, 24)),))
    before = judge(evidence, secret, seeded(0)).scores[0]
    monkeypatch.setitem(CLAIMS, "brightness", ClaimRules(**RULES))
    after = judge(evidence, secret, seeded(0)).scores[0]
    assert (before.interval, before.baselines, before.advantage) == (after.interval, after.baselines, after.advantage)


@pytest.mark.parametrize("part", RULES)
def test_rules_without_a_part(part: str) -> None:
    with pytest.raises(TypeError, match=part):
        ClaimRules(**{name: value for name, value in RULES.items() if name != part})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"claim": object}, "no claim with a name"),
        ({"check": None}, "lack check"),
        ({"baselines": None}, "lack baselines"),
        ({"curves": None}, "lack curves"),
        ({"examples": None}, "lack examples"),
        ({"states": None}, "lack states"),
        ({"guesses": None}, "lack guesses"),
        ({"metrics": {}}, "lack metrics"),
        ({"decisive": {}}, "one that decides"),
        ({"decisive": {"brightness": Harm.PARTS}}, "is no metric of it"),
        ({"decisive": {"brightness-error": Harm.NOTHING}}, "needs a harm"),
        ({"decisive": {"brightness-error": 3}}, "needs a harm"),
        ({"baselines": no_baselines}, "needs a baseline or its chance"),
        ({"metrics": {"brightness-error": replace(METRIC, finding="")}}, "needs a finding"),
        ({"metrics": {"brightness-error": replace(METRIC, finding="{colour}")}}, "speaks of colour"),
    ],
)
def test_rules_that_do_not_fit(change: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        ClaimRules(**{**RULES, **change})


def test_exact_chance_is_baseline_enough() -> None:
    known = replace(METRIC, chance=lambda claim, secret: torch.zeros(len(claim.about)))
    assert ClaimRules(
        **{**RULES, "metrics": {"brightness-error": known}, "baselines": no_baselines, "curves": no_curves}
    )


def test_every_kind_of_claim_of_ours_has_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {name: rules.claim for name, rules in CLAIMS.items()} == {
        name: kind for name, kind in Claim.kinds.items() if kind.__module__ == "hideseek.records.claims"
    }
    assert without_rules() == []
    monkeypatch.setattr(claims, "CLAIMS", {name: rules for name, rules in CLAIMS.items() if name != "links"})
    assert without_rules() == ["links"]


def test_no_two_metrics_have_one_name() -> None:
    assert list(METRICS) == [name for rules in CLAIMS.values() for name in rules.metrics]
    with pytest.raises(TypeError, match="auc"):
        by_name([*CLAIMS.values(), replace(CLAIMS["links"], claim=Brightness)])


def test_what_decides() -> None:
    assert {name: dict(rules.decisive) for name, rules in CLAIMS.items()} == {
        "reconstruction": {
            "recovered": Harm.RECOVERED,
            "re-identified": Harm.REIDENTIFIED,
            "fitted-ssim": Harm.LIKENESS,
            "absolute-correlation": Harm.LIKENESS,
        },
        "public-images": {"hit@1": Harm.PARTS},
        "links": {"auc": Harm.LINKED},
        "masks": {"wrong-signs": Harm.PARTS},
        "attribution": {"accuracy": Harm.TOLD_APART},
        "labels": {"labels-right": Harm.PARTS},
        "membership": {"membership-auc": Harm.TOLD_APART},
    }
