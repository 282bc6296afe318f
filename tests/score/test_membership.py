"""Membership: figures against independent ones, galleries with equal images, and chance."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide import Mixup
from hideseek.records import Evidence, Membership, Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.records.result import Harm, NoteKind
from hideseek.score.judge import judge
from hideseek.score.judgement import Score
from hideseek.score.membership import METRICS, RULES, auc, curves, tpr_at_fpr
from hideseek.score.membership_test import beyond_chance, members
from hideseek.score.roc import tpr_at_fpr as reference_tpr
from toys import images


def truth(private: Samples, others: Samples | None) -> MixingSecret:
    return replace(Mixup(k=2).hide(private, None, seeded(0))[1], others=others)


def secret_of(count: int = 60) -> MixingSecret:
    return truth(images(count), images(count, seed=3))


def claimed(secret: MixingSecret, effect: float, seed: int = 0, rounded: int = 9) -> Membership:
    """Scores that are higher by an effect, in deviations, for private images."""
    count = len(secret.candidates)
    noise = np.random.default_rng(seed).standard_normal(count)
    scores = np.round(noise + effect * (secret.identities >= 0).numpy(), rounded)
    return Membership(torch.arange(count), torch.from_numpy(scores))


def judged(claim: Membership, secret: MixingSecret, metric: str = "membership-auc") -> Score:
    (score,) = judge(Evidence((claim,)), secret, seeded(1), [metric]).scores
    return score


@pytest.mark.parametrize("rounded", [9, 0], ids=["distinct", "ties"])
def test_means_are_the_area_and_the_rates(rounded: int) -> None:
    secret = secret_of()
    claim = claimed(secret, 1.0, rounded=rounded)
    inside = members(claim, secret)
    assert int(inside.sum()) == 60
    assert float(auc(claim, secret).mean()) == pytest.approx(roc_auc_score(inside.numpy(), claim.scores.numpy()))
    for alarms in (0.001, 0.01, 0.2):
        wanted = reference_tpr(claim.scores, inside, alarms)
        assert float(tpr_at_fpr(alarms, claim, secret).mean()) == pytest.approx(wanted)


def test_who_is_a_member_follows_from_the_secret() -> None:
    secret = secret_of(10)
    shown = secret.candidates
    known = {image.numpy().tobytes() for image in secret.private.images}
    assert [image.numpy().tobytes() in known for image in shown.images] == (secret.identities >= 0).tolist()
    for place, identity in enumerate(secret.identities.tolist()):
        image = secret.private.images[identity] if identity >= 0 else secret.non_members.images[-1 - identity]
        assert torch.equal(shown.images[place], image)


def test_an_equal_image_is_a_member_and_stays_with_its_twin() -> None:
    private, others = images(20), images(20, seed=3)
    others = replace(others, images=torch.cat([private.images[:5], others.images[5:]]))
    secret = truth(private, others)
    assert int((secret.identities >= 0).sum()) == 25
    assert len(secret.identities.unique()) == 35
    score = judged(claimed(secret, 1.0), secret)
    assert len(score.values) == 25
    assert score.interval.count == 20  # private images, not candidates


def test_chance_is_chance_and_a_p_value_is_valid() -> None:
    """Of 100 scores that know nothing, p ≤ 0.1 has 10 expected, deviation 3; within three."""
    secret = secret_of(30)
    p_values = []
    for seed in range(100):
        significance = METRICS["membership-auc"].test(claimed(secret, 0.0, seed), secret, seeded(seed))  # type: ignore[misc]
        assert significance is not None
        p_values.append(significance.p_value)
    assert abs(sum(p <= 0.1 for p in p_values) - 10) <= 9


def test_the_p_value_is_that_of_mann_and_whitney() -> None:
    from scipy.stats import mannwhitneyu

    secret = secret_of(100)
    for seed in range(4):  # within four deviations of 1,999 draws
        claim = claimed(secret, 0.1, seed)
        inside = members(claim, secret)
        exact = mannwhitneyu(claim.scores[inside], claim.scores[~inside], alternative="greater", method="exact").pvalue
        found = beyond_chance(claim, secret, seeded(seed)).p_value
        assert abs(found - exact) < 4 * np.sqrt(exact * (1 - exact) / 1999)


def test_a_leak_beats_its_baselines_and_says_which_epsilon_it_refutes() -> None:
    secret = secret_of(200)
    score = judged(claimed(secret, 2.0), secret)
    assert score.beats
    assert set(score.baselines) == {"brightness alone", "contrast alone", "chance"}
    (note,) = score.notes
    assert note.kind is NoteKind.REFUTED_EPSILON
    assert (note.count, note.of, note.unit) == (400, 200, "1e-05")
    assert 1 < note.value < 6
    assert not judged(claimed(secret, 0.0), secret).beats
    assert judged(claimed(secret, 0.0), secret).notes == ()
    assert RULES.decisive == {"membership-auc": Harm.TOLD_APART}


def test_images_of_another_kind_are_told_apart_without_the_release() -> None:
    private, others = images(60, stored=False), images(60, seed=3, stored=False)
    secret = truth(private, replace(others, images=others.images + 1.0))
    bright = secret.candidates.pixels().flatten(1).mean(1)
    score = judged(Membership(torch.arange(120), -bright), secret)
    assert score.interval.mean > 0.9
    assert score.best_baseline == "brightness alone"
    assert not score.beats


def test_what_some_are_above_by_chance() -> None:
    secret = secret_of(60)
    score = judged(claimed(secret, 0.0), secret, "membership-tpr@fpr=0.01")
    assert score.baselines["chance"].mean == pytest.approx(1 / 61)
    rates = [float(tpr_at_fpr(0.05, claimed(secret, 0.0, seed), secret).mean()) for seed in range(400)]
    assert np.mean(rates) == pytest.approx(4 / 61, rel=0.1)


def test_the_curve_is_the_roc() -> None:
    secret = secret_of()
    (curve,) = curves(claimed(secret, 1.0), secret)
    assert curve.log_x
    assert curve.y[-1] == 1.0
    assert all(one <= other for one, other in zip(curve.y, curve.y[1:], strict=False))


def test_without_non_members_there_is_nothing_to_tell_apart() -> None:
    flat = replace(images(12), images=torch.full((12, 3, 8, 8), 7, dtype=torch.uint8))  # mirrored, they are the same
    for secret in (truth(images(12), images(0)), replace(secret_of(12), private=flat, others=None)):
        claim = Membership(torch.arange(len(secret.candidates)), torch.arange(len(secret.candidates)).float())
        skipped = judge(Evidence((claim,)), secret, seeded(1)).skipped
        assert {each.metric for each in skipped} == set(METRICS)
        assert all("not private" in each.reason for each in skipped)
        assert curves(claim, secret) == ()


def test_candidates_that_are_not_there_are_refused() -> None:
    secret = secret_of(10)
    for places, words in (([0, 20], "candidate 20"), ([3, 3], "twice")):
        with pytest.raises(BadInput, match=words):
            judge(Evidence((Membership(torch.tensor(places), torch.zeros(2)),)), secret, seeded(0))
    outside = (secret.identities < 0).nonzero()[:, 0]
    claim = Membership(outside, torch.zeros(len(outside)))
    assert all("none of the candidates" in each.reason for each in judge(Evidence((claim,)), secret, seeded(0)).skipped)


def of_patients(count: int = 60, patients: int = 20) -> MixingSecret:
    """Private images of patients with three images each, and others likewise."""
    private = replace(images(count), patients=torch.arange(count) % patients)
    others = replace(images(count, seed=3), patients=1000 + torch.arange(count) % patients)
    return truth(private, others)


def test_a_patient_is_one_record() -> None:
    secret = of_patients()
    claim = claimed(secret, 0.7)
    prepared = RULES.prepare(claim, secret)
    assert isinstance(prepared, Membership)
    assert len(prepared.candidates) == 40
    means: dict[tuple[bool, int], list[float]] = {}
    for candidate, score in enumerate(claim.scores.tolist()):  # whose each candidate is, by its pixels
        same = (secret.candidates.images[candidate] == secret.private.images).flatten(1).all(1)
        place = int(same.int().argmax()) if same.any() else None
        if place is None:
            other = (secret.candidates.images[candidate] == secret.non_members.images).flatten(1).all(1)
            means.setdefault((False, int(other.int().argmax()) % 20), []).append(score)
        else:
            means.setdefault((True, place % 20), []).append(score)
    reference = [(inside, float(np.mean(scores))) for (inside, _), scores in means.items()]
    area = roc_auc_score([inside for inside, _ in reference], [score for _, score in reference])
    assert judged(claim, secret).interval.mean == pytest.approx(area, abs=1e-6)
    assert int(members(prepared, secret).sum()) == 20
    again = RULES.prepare(prepared, secret)
    assert isinstance(again, Membership)
    assert torch.equal(again.scores, prepared.scores)


def test_patients_without_an_effect_are_at_chance() -> None:
    """Forty patients with correlated images: 5 % of p-values are below 0.05; the seeds are fixed."""
    secret = of_patients()
    low = 0
    for seed in range(60):
        chance = np.random.default_rng(seed)
        of = chance.standard_normal(3000)  # what all images of a patient share
        assert secret.owners is not None
        scores = torch.from_numpy(of[secret.owners.numpy()] + 0.1 * chance.standard_normal(120)).float()
        prepared = RULES.prepare(Membership(torch.arange(120), scores), secret)
        assert isinstance(prepared, Membership)
        low += beyond_chance(prepared, secret, seeded(seed)).p_value < 0.05
    assert low <= 8  # Bin(60, 0.05) is above in 0.4 %; image by image a third would be


def test_looks_of_patients_are_means_over_their_images() -> None:
    secret = of_patients()
    claim = RULES.prepare(claimed(secret, 0.0), secret)
    found = {baseline.name: baseline.claim for baseline in RULES.baselines(claim, secret, seeded(0))}
    bright = found["brightness alone"]
    assert isinstance(bright, Membership)
    assert isinstance(claim, Membership)
    means = secret.candidates.pixels().flatten(1).double().mean(1)
    assert secret.owners is not None
    for candidate, value in zip(bright.candidates.tolist(), bright.scores.tolist(), strict=True):
        mean = float(means[secret.owners == secret.owners[candidate]].mean())
        assert abs(value) == pytest.approx(abs(mean), abs=1e-5)
