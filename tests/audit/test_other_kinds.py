"""A kind of release that hideseek has never heard of goes through an audit: plan, proofs, run, verdict, page."""

from pathlib import Path

import pytest
import torch

from clocks import VirtualClock
from hideseek.audit import Question, audit, make_plan
from hideseek.data import load, normalise
from hideseek.hide import Mixup
from hideseek.records import Reason
from hideseek.records.result import AttackResult, Harm, Outcome, Result, StepKey, StepKind
from hideseek.report.result_files import read_result
from hideseek.seek import ATTACKS
from toy_gradient import ExactGradient, LinearGradient

pytestmark = pytest.mark.usefixtures("without_lpips")


@pytest.fixture(scope="module")
def question() -> Question:
    faces = normalise(load("faces").take(torch.arange(0, 160, 4)), "channel")
    schemes = {"plain": LinearGradient(), "noisy": LinearGradient(noise=1000.0), "mixup": Mixup()}
    attacks = {"exact": ExactGradient(), "mixup-pairs": ATTACKS["mixup-pairs"]}
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
    assert str(refused) == "this attack is on a EncodedRelease, not on a GradientRelease."
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
    assert [each.helps for each in advice] == [True]


def test_its_attackers_are_those_that_apply_to_it(audited: tuple[Result, Path]) -> None:
    result, _ = audited
    verdicts = {scheme.name: [(each.threat, each.outcome) for each in scheme.verdicts] for scheme in result.schemes}
    assert verdicts["plain"] == [("outsider", Outcome.BROKEN)]
    assert verdicts["noisy"] == [("outsider", Outcome.RESISTED)]
    assert [threat for threat, _ in verdicts["mixup"]] == ["outsider", "linked", "informed"]


def test_it_is_written_and_has_a_page(audited: tuple[Result, Path]) -> None:
    result, folder = audited
    assert read_result(folder) == result
    page = (folder / "report.html").read_text()
    for words in ("plain", "80 updates", "Phong et al. 2017", "linear-gradient", "noise"):
        assert words in page
