import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide import InstaHide, Mixup
from hideseek.records import Attribution, EncodedRelease, Evidence, MixingEncoder, Reason, Refused
from hideseek.seek.rows.distinguish import Distinguish
from hideseek.seek.run import run
from hideseek.seek.signals.discriminant import CosineFeatures, chosen_discriminant, scatter
from hideseek.seek.signals.encoding_tests import one_against_the_rest, single_against_many, statistics
from releases import noise_like, photos


def released(scheme: MixingEncoder, count: int = 40, rounds: int = 60, seed: int = 1) -> EncodedRelease:
    """Encodings of photographs whose first images are known."""
    private, public = photos("channel")
    release, secret = scheme.hide(private.take(slice(0, count)), public, seeded(seed), rounds)
    return secret.reveal(release, ("made_for",))


def accuracy(evidence: Evidence, release: EncodedRelease) -> float:
    (claim,) = evidence.claims
    assert isinstance(claim, Attribution)
    assert release.made_for is not None
    guesses = claim.candidates[claim.scores.argmax(1)]
    return float((guesses == release.made_for[claim.rows]).float().mean())


def test_the_classifier_tells_encodings_apart() -> None:
    """Eight of forty photographs, two private and two public in a row; 240 guesses by chance: 30 right, deviation 5."""
    release = released(InstaHide(k=4, k_private=2))
    evidence = run(Distinguish(images=8, tests=2), release, seeded(0))
    assert accuracy(evidence, release) > 3 / 8
    (claim,) = evidence.claims
    assert isinstance(claim, Attribution)
    assert len(claim.rows.unique()) == 8 * 30  # half of the rows are guessed
    assert claim.candidates.tolist() == evidence.remarks["images"]
    assert json.loads(json.dumps(evidence.remarks, allow_nan=False)) == evidence.remarks
    assert evidence.remarks["classifier"]["validation accuracy"] > 3 / 8


def test_without_a_mask_it_is_easier() -> None:
    release = released(Mixup(largest=0.65))
    evidence = run(Distinguish(images=8, tests=2), release, seeded(0))
    assert accuracy(evidence, release) > 6 / 8


def test_noise_is_guessed_by_chance() -> None:
    """240 guesses among 8: 30 right, deviation 5.1; within four."""
    release = released(InstaHide(k=4, k_private=2))
    release = replace(release, encoded=noise_like(release.encoded))
    evidence = run(Distinguish(images=8, tests=2), release, seeded(0))
    assert abs(240 * accuracy(evidence, release) - 30) < 20.5
    assert evidence.remarks["whole, rejected"] <= 1  # of 56; one false alarm in twenty runs is to be expected


def test_the_same_seed_gives_the_same_evidence() -> None:
    release = released(InstaHide(), rounds=20)
    first, second = (run(Distinguish(images=4, tests=2), release, seeded(3)) for _ in range(2))
    assert first.remarks == second.remarks
    for ours, theirs in zip(first.claims, second.claims, strict=True):
        assert isinstance(ours, Attribution)
        assert isinstance(theirs, Attribution)
        assert torch.equal(ours.scores, theirs.scores)
        assert torch.equal(ours.rows, theirs.rows)


def test_images_with_most_rows_are_chosen_and_no_more_rows_than_asked_for() -> None:
    release = released(InstaHide(), count=6, rounds=40)
    assert release.made_for is not None
    release = replace(release, made_for=torch.where(release.made_for == 5, 2, release.made_for))
    for seed in range(5):
        evidence = run(Distinguish(images=2, encodings=30, tests=1, locations=0), release, seeded(seed))
        assert 2 in evidence.remarks["images"]
        assert evidence.remarks["rows"] == [30, 30]


def test_statistics_against_numpy() -> None:
    encoded = np.random.default_rng(0).standard_normal((5, 3, 7, 6)).astype(np.float32)
    got = statistics(torch.from_numpy(encoded), torch.tensor([0, 100])).numpy()
    for row, image in zip(got, encoded.astype(np.float64), strict=True):
        variation = sum(abs(image[c, i + 1, j] - image[c, i, j]) for c in range(3) for i in range(6) for j in range(6))
        variation += sum(abs(image[c, i, j + 1] - image[c, i, j]) for c in range(3) for i in range(7) for j in range(5))
        expected = [image.mean(), image.std(), variation, image[0, 0, 0], image[2, 2, 4]]
        np.testing.assert_allclose(row, expected, rtol=1e-6)


def drawn(images: int, each: int, apart: float, kinds: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Normal values of `images` means, `apart` from each other."""
    ids = np.repeat(np.arange(images), each)
    noise = np.random.default_rng(0).standard_normal((images * each, kinds))
    return noise + apart * ids[:, None], ids


def test_single_encodings_average_to_one_half_however_much_images_differ() -> None:
    """The paper's test: 1,000 p-values against all have mean 0.5 to 0.009 if each is uniform; within four."""
    for apart in (0.0, 0.2, 1000.0):
        values, ids = drawn(10, 100, apart, kinds=1)
        against_all, _ = single_against_many(values, ids, 100, seeded(0))
        assert abs(against_all.mean() - 0.5) < 0.037
    values, ids = drawn(10, 400, 1000.0)  # no two images have a value between the same bounds
    assert (one_against_the_rest(values, ids) < 1e-10).all()


def test_images_that_differ_by_a_little_are_found_by_the_whole_test_alone() -> None:
    """Two kinds of images, one deviation apart: all averages of single p-values are above 0.3, all whole ones tiny."""
    values, ids = drawn(10, 400, 0.0, kinds=1)
    values += (ids % 2)[:, None]
    against_all, against_others = single_against_many(values, ids, 50, seeded(0))
    assert against_all.min() > 0.3
    assert against_others.min() > 0.3
    assert (one_against_the_rest(values, ids) < 1e-6).all()


def test_an_image_far_from_all_others_has_low_single_averages_too() -> None:
    """What the paper's test can find: an image beyond all others. The least p-value of one among n is 2/(n + 1)."""
    values, ids = drawn(5, 50, 0.0)
    values[ids == 0] += 100
    _, against_others = single_against_many(values, ids, 10, seeded(0))
    assert against_others[0] == pytest.approx(2 / 201)


def test_the_whole_test_keeps_its_level() -> None:
    """210 p-values of images that do not differ: 10.5 under 5 %, deviation 3.2; within four."""
    values, ids = drawn(30, 60, 0.0, kinds=7)
    assert int((one_against_the_rest(values, ids) < 0.05).sum()) < 24


@pytest.mark.parametrize("features", [6, 80])
def test_scores_against_the_formula(features: int) -> None:
    """z'Σ⁻¹m − m'Σ⁻¹m/2 with the matrix written out, for more rows than features, and fewer."""
    generator = np.random.default_rng(0)
    ids = np.repeat(np.arange(3), 15)
    values = generator.standard_normal((45, features)) * generator.uniform(0.1, 5, features) + ids[:, None]
    asked = generator.standard_normal((4, features))
    means = np.stack([values[ids == number].mean(0) for number in range(3)])
    apart = values - means[ids]
    deviations = np.sqrt((apart**2).mean(0))
    within = apart.T @ apart / 45
    for share in (0.1, 1.0):
        metric = np.linalg.inv((1 - share) * within + share * np.diag(deviations**2))
        expected = asked @ metric @ means.T - np.einsum("ij,jk,ik->i", means, metric, means) / 2
        np.testing.assert_allclose(scatter(values, ids).scores(asked, share), expected, rtol=1e-7, atol=1e-9)


def test_guesses_are_those_of_scikit_learn() -> None:
    """LinearDiscriminantAnalysis shrinks towards the mean variance: 1, once features have been scaled."""
    generator = np.random.default_rng(0)
    ids = np.repeat(np.arange(4), 30)
    values = generator.standard_normal((120, 12)) * generator.uniform(0.1, 5, 12) + 0.7 * ids[:, None]
    asked = generator.standard_normal((200, 12)) * 3
    ours = scatter(values, ids)
    theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.3).fit(values / ours.scale, ids)
    expected = theirs.decision_function(asked / ours.scale)
    found = ours.scores(asked, 0.3)
    np.testing.assert_allclose(found - found.mean(1, keepdims=True), expected - expected.mean(1, keepdims=True))


def test_masked_encodings_are_looked_at_without_their_signs() -> None:
    encoded = np.random.default_rng(0).standard_normal((4, 1, 9, 10)).astype(np.float32)
    for power in (1, 2):
        features = CosineFeatures(power, 8, masked=True)
        np.testing.assert_array_equal(features.of(encoded), features.of(-encoded))
        assert features.of(encoded).shape == (4, 64)
    plain = CosineFeatures(1, 8, masked=False)
    np.testing.assert_array_equal(plain.of(encoded), -plain.of(-encoded))


def test_constant_encodings_do_not_break_the_classifier() -> None:
    chosen = chosen_discriminant(np.zeros((16, 1, 3, 3)), np.repeat([0, 1], 8), masked=True, chance=seeded(0))
    assert np.isfinite(chosen.scores(np.zeros((2, 1, 3, 3)))).all()


def test_what_cannot_be_told_apart_is_refused() -> None:
    few, enough = released(InstaHide(), rounds=3), released(InstaHide(), rounds=8)
    assert few.made_for is not None
    for release, reason in (
        (few, Reason.TOO_FEW_ROUNDS),
        (replace(few, made_for=None), Reason.TOO_FEW_ROUNDS),  # whose they are would not help
        (replace(enough, made_for=None), Reason.MISSING_FIELDS),
        (replace(few, made_for=few.made_for[:5]), Reason.INCOMPLETE_SOURCES),
    ):
        with pytest.raises(Refused) as error:
            run(Distinguish(), release, seeded(0))
        assert error.value.refusal.reason is reason
    with pytest.raises(BadInput, match="2 images or more"):
        Distinguish(images=1)
    with pytest.raises(BadInput, match="locations"):
        Distinguish(locations=-1)
