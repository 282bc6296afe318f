import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide import InstaHide, Mixup
from hideseek.records import Attribution, EncodedRelease, Evidence, MixingEncoder, Reason, Refused
from hideseek.seek.rows.distinguish import Distinguish
from hideseek.seek.run import run
from hideseek.seek.signals.encoding_tests import one_against_the_rest, statistics
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


def test_the_tests_are_of_some_images_and_the_guesses_of_all() -> None:
    release = released(InstaHide(), rounds=10)
    evidence = run(Distinguish(tested=4, tests=2, locations=1), release, seeded(0))
    (claim,) = evidence.claims
    assert isinstance(claim, Attribution)
    assert len(claim.candidates) == 40
    assert len(evidence.remarks["tested"]) == len(evidence.remarks["whole against others"]) == 4
    assert evidence.remarks["whole, tests"] == 4 * 4
    whole = one_against_the_rest(*values_of(release, evidence))
    np.testing.assert_allclose(np.array(evidence.remarks["whole against others"])[:, :3], whole, rtol=0.01)


def values_of(release: EncodedRelease, evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
    """The statistics of the rows of the images that were tested, and whose they are."""
    assert release.made_for is not None
    tested = torch.tensor(evidence.remarks["tested"])
    rows = torch.isin(release.made_for, tested)
    owners = (release.made_for[rows][:, None] == tested).int().argmax(1)
    return statistics(release.encoded.pixels()[rows], torch.empty(0, dtype=torch.int64)).numpy(), owners.numpy()


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
    with pytest.raises(BadInput, match="a test takes"):
        Distinguish(tested=1)
