"""Who a model was trained on: LiRA and RMIA against few lines, where they must succeed, and where they must not."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.records import Attack, Membership, Reason, Refused
from hideseek.records.model_release import ModelRelease
from hideseek.score.judge import judge
from hideseek.score.membership import auc
from hideseek.seek import ON_MODELS
from hideseek.seek.members.lira import Lira, likelihood_ratios
from hideseek.seek.members.rmia import Rmia, shares_beaten
from hideseek.seek.members.shadow_models import Answers, answers, logits
from hideseek.seek.run import run
from model_members import model_release, noise_images


@pytest.mark.parametrize("name", ON_MODELS)
@pytest.mark.parametrize("knows", [True, False], ids=["by heart", "of nothing"])
def test_who_was_learnt_by_heart_is_told_apart_and_nobody_else(name: str, knows: bool) -> None:
    """150 members and 150 others: the AUC of scores by chance deviates by 0.034 from ½."""
    release, secret = model_release(150, knows)
    evidence = run(ON_MODELS[name], release, seeded(4))
    scores = {score.metric: score for score in judge(evidence, secret, seeded(5)).scores}
    area = scores["membership-auc"]
    assert area.beats == knows
    if knows:
        assert area.interval.mean > 0.9
        assert scores["membership-tpr@fpr=0.01"].beats
        assert area.notes[0].value > 0.5  # the ε that is refuted
    else:
        assert abs(area.interval.mean - 0.5) < 4 * 0.034
        assert not area.notes


def drawn(models: int, count: int, seed: int = 0) -> Answers:
    rng = np.random.default_rng(seed)
    inside = np.zeros((models, count), bool)
    for pair in range(0, models, 2):
        inside[pair] = rng.random(count) < 0.5
        inside[pair + 1] = ~inside[pair]
    shadows = rng.normal(size=(models, count)) + 2.0 * inside
    return Answers(*(torch.from_numpy(each) for each in (rng.normal(size=count), shadows, inside)))


@pytest.mark.parametrize("models", [8, 64])
def test_the_ratio_is_that_of_two_normal_laws(models: int) -> None:
    found = drawn(models, 30)
    target, shadows, inside = (each.numpy() for each in (found.target, found.shadows, found.inside))
    ratios = likelihood_ratios(found).numpy()
    sides = [[shadows[side[:, x], x] for x in range(30)] for side in (inside, ~inside)]
    for x in range(30):
        logs = []
        for side in sides:
            pooled = np.sqrt(
                sum(((each - each.mean()) ** 2).sum() for each in side) / sum(len(each) - 1 for each in side)
            )
            deviation = side[x].std(ddof=1) if models >= 64 else pooled
            logs.append(stats.norm.logpdf(target[x], side[x].mean(), deviation))
        assert ratios[x] == pytest.approx(logs[0] - logs[1], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
def test_a_candidate_beats_others_whose_ratio_is_smaller(gamma: float) -> None:
    found = drawn(4, 40)
    target, shadows = (1 / (1 + np.exp(-each.numpy())) for each in (found.target, found.shadows))
    ratio = target / shadows.mean(0)
    wanted = [np.mean([ratio[x] / ratio[z] >= gamma for z in range(40) if z != x]) for x in range(40)]
    np.testing.assert_allclose(shares_beaten(found, gamma).numpy(), wanted, atol=1e-12)


def test_ties_are_broken_by_the_ratio() -> None:
    """With a γ that no ratio reaches, nobody beats anybody, and members are told apart none the less."""
    release, secret = model_release(60, True)
    (claim,) = run(Rmia(4, gamma=1e6), release, seeded(4)).claims
    assert isinstance(claim, Membership)
    assert len(claim.scores.unique()) == 120
    assert float(auc(claim, secret).mean()) > 0.8


def test_logits_are_the_log_odds_of_the_class() -> None:
    release, _ = model_release(20, True)
    images = noise_images(6, 7)
    with torch.inference_mode():
        probabilities = release.model.network()(images.pixels()).double().softmax(1).numpy()
    own = probabilities[np.arange(6), images.labels.argmax(1).numpy()]
    np.testing.assert_allclose(logits(release.model.network(), images).numpy(), np.log(own / (1 - own)), rtol=1e-4)


def test_every_candidate_is_in_half_of_the_models() -> None:
    release, _ = model_release(20, True)
    inside = answers(release, 6, seeded(0)).inside
    assert (inside.sum(0) == 3).all()
    assert (inside.sum(1) == 20).all()


@pytest.mark.parametrize("attack", [Lira(4), Rmia(2)])
def test_what_it_cannot_work_on_is_refused(attack: Attack[ModelRelease]) -> None:
    release, _ = model_release(10, True)
    assert release.candidates is not None
    smaller = replace(release.candidates, images=release.candidates.images[:, :, :5])
    equal = replace(release.candidates, images=torch.zeros_like(release.candidates.images))
    for given, reason in (
        (replace(release, candidates=smaller), Reason.CANDIDATES_OF_OTHER_SHAPE),
        (replace(release, candidates=equal), Reason.EQUAL_CANDIDATES),
        (replace(release, labels=None), Reason.MISSING_FIELDS),
        (replace(release, candidates=None, labels=None), Reason.MISSING_FIELDS),
    ):
        with pytest.raises(Refused) as refused:
            run(attack, given, seeded(0))
        assert refused.value.refusal.reason is reason


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Lira(2), "4 or more"),
        (lambda: Lira(7), "come in pairs"),
        (lambda: Rmia(0), "come in pairs"),
        (lambda: Rmia(gamma=0.0), "gamma must be"),
    ],
)
def test_settings_that_cannot_be(make: type, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        make()


def test_noise_in_place_of_the_model_knows_nobody() -> None:
    release, secret = model_release(150, True)
    evidence = run(Lira(8), release.as_noise(seeded(9)), seeded(4))
    (claim,) = evidence.claims
    assert isinstance(claim, Membership)
    assert not judge(evidence, secret, seeded(5)).scores[0].beats
