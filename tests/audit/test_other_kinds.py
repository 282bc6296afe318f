"""Kinds of releases, attacks and claims that hideseek has never heard of go through an audit, from plan to page."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch

from clocks import VirtualClock
from hideseek.audit import Question, audit, make_plan
from hideseek.chance import Randomness
from hideseek.data import load, normalise
from hideseek.errors import BadInput
from hideseek.hide import Mixup
from hideseek.records import Attack, EncodedRelease, Evidence, Reason
from hideseek.records.result import AttackResult, Harm, Outcome, Result, StepKey, StepKind
from hideseek.report.result_files import read_result
from hideseek.score.claim_rules import ClaimRules
from hideseek.score.claims import CLAIMS
from hideseek.seek import ATTACKS
from toy_claim import RULES, Brightness
from toy_gradient import ExactGradient, LinearGradient

pytestmark = pytest.mark.usefixtures("without_lpips")


@pytest.fixture(scope="module")
def question() -> Question:
    faces = normalise(load("faces").take(torch.arange(0, 160, 4)), "channel")
    schemes = {"plain": LinearGradient(), "noisy": LinearGradient(noise=1000.0), "mixup": Mixup()}
    some = ("mixup-pairs", "average-known", "linear-inversion")  # of an outsider, a linked and an informed attacker
    attacks = {"exact": ExactGradient(), **{name: ATTACKS[name] for name in some}}
    return Question(faces, schemes, rounds=2, attacks=attacks, budget=1e9)


@pytest.fixture(scope="module")
def audited(question: Question, tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    folder = tmp_path_factory.mktemp("audits") / "audit"
    return audit(question, folder, seed=1, clock=VirtualClock()), folder


def of(result: Result, scheme: str, attack: str) -> AttackResult:
    return next(each for one in result.schemes if one.name == scheme for each in one.attacks if each.attack == attack)


def test_it_is_planned(question: Question) -> None:
    plan = make_plan(question)
    assert plan.step(StepKey(StepKind.ATTACK, "plain", "exact")) is not None
    refused = plan.refused[StepKey(StepKind.ATTACK, "plain", "mixup-pairs")]
    assert refused.reason is Reason.OTHER_KIND
    assert str(refused) == "this attack is for releases of the kind EncodedRelease, not GradientRelease."
    assert plan.refused[StepKey(StepKind.ATTACK, "mixup", "exact")].reason is Reason.OTHER_KIND


def test_the_gradient_shows_the_image_and_noise_hides_it(audited: tuple[Result, Path]) -> None:
    result, _ = audited
    exact = of(result, "plain", "exact")
    assert (exact.outcome, exact.harm, exact.threat) == (Outcome.BROKEN, Harm.RECOVERED, "outsider")
    assert [proof.passed for proof in exact.proofs] == [True, True]
    recovered = next(figure for figure in exact.figures if figure.metric == "recovered")
    assert recovered.found.mean == 1.0
    assert exact.contents.item == "update"
    assert of(result, "noisy", "exact").outcome is Outcome.RESISTED
    assert of(result, "plain", "mixup-pairs").outcome is Outcome.NOT_APPLICABLE
    assert of(result, "mixup", "exact").outcome is Outcome.NOT_APPLICABLE
    advice = result.schemes[0].advice
    assert [each.helps for each in advice] == [True, False]  # to leave ten images out does not help the others


def test_its_attackers_are_those_that_apply_to_it(audited: tuple[Result, Path]) -> None:
    result, _ = audited
    verdicts = {scheme.name: [(each.threat, each.outcome) for each in scheme.verdicts] for scheme in result.schemes}
    assert verdicts["plain"] == [("outsider", Outcome.BROKEN), ("candidates", Outcome.BROKEN)]
    assert verdicts["noisy"] == [("outsider", Outcome.RESISTED), ("candidates", Outcome.RESISTED)]
    assert [threat for threat, _ in verdicts["mixup"]] == ["outsider", "candidates", "linked", "informed"]


def test_it_is_written_and_has_a_page(audited: tuple[Result, Path]) -> None:
    result, folder = audited
    assert read_result(folder) == result
    page = (folder / "report.html").read_text()
    for words in ("plain", "80 updates", "Phong et al. 2017", "linear-gradient", "noise"):
        assert words in page


@dataclass(frozen=True)
class MeanBrightness(Attack[EncodedRelease]):
    """Average the brightness of the rows of each image."""

    sees: ClassVar = EncodedRelease
    needs: ClassVar = ("made_for",)
    source: ClassVar = "a toy"

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        assert release.made_for is not None
        rows, images = release.encoded.pixels().mean((1, 2, 3)), release.made_for
        means = images.bincount(rows) / images.bincount()
        return Evidence((Brightness(torch.arange(len(means)), means.float()),))


def test_a_new_attack_with_a_new_claim_is_audited(
    question: Question, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CLAIMS, "brightness", ClaimRules(**RULES))
    attacks: dict[str, Attack[Any]] = {"mean-brightness": MeanBrightness()}
    asked = replace(question, schemes={"mixup": Mixup()}, attacks=attacks, rounds=12)
    result = audit(asked, tmp_path / "a", seed=1, clock=VirtualClock())
    found = of(result, "mixup", "mean-brightness")
    assert (found.outcome, found.harm, found.threat) == (Outcome.LEAKS, Harm.PARTS, "linked")
    assert [verdict.outcome for verdict in result.schemes[0].verdicts] == [
        "not applicable",
        "not applicable",
        "leaks",
        "not applicable",
    ]
    assert "brightness is" in (tmp_path / "a" / "report.html").read_text().lower()


@dataclass(frozen=True)
class Needing(ExactGradient):
    """Need what no attacker is given."""

    needs: ClassVar = ("order",)


def test_an_attack_that_no_attacker_can_run_is_an_error(question: Question) -> None:
    with pytest.raises(BadInput, match="no attacker is given order"):
        make_plan(replace(question, attacks={"needing": Needing()}))
