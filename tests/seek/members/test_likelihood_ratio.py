"""Likelihoods of rows with and without a candidate: against plain ones, and over schemes and what is known."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.hide import Augmented, GaussianMixup, InstaHide, Laplace, Mixup, SingularizedMixup
from hideseek.records import EncodedRelease, Membership, MixingEncoder, Reason, Refused, Samples
from hideseek.records.gallery import unlabelled
from hideseek.records.mixing_secret import MixingSecret
from hideseek.score.membership import auc
from hideseek.seek.members.likelihood_ratio import LikelihoodRatio
from hideseek.seek.run import run
from hideseek.seek.signals.candidate_filter import CandidateFilter
from hideseek.seek.signals.matched_filter import inverse_energy
from releases import photos

SCHEMES: dict[str, tuple[MixingEncoder, int, float]] = {
    "mixup": (Mixup(k=4), 1, 0.95),
    "mixup, public": (Mixup(k=4, k_private=1), 1, 0.9),
    "inside": (InstaHide(k=4), 3, 0.8),
    "cross": (InstaHide(k=4, k_private=2), 3, 0.8),
    "laplace": (Laplace(scale=0.5), 1, 0.9),
    "singularized": (SingularizedMixup(tau=1e-1), 4, 0.8),
}


def released(scheme: MixingEncoder, rounds: int = 1, count: int = 40) -> tuple[EncodedRelease, MixingSecret]:
    private, public = photos("channel", public=200)
    release, secret = scheme.hide(
        private.take(slice(0, count)), public if scheme.mixes_public else None, seeded(1), rounds
    )
    secret = replace(secret, others=unlabelled(public.take(slice(0, count)))) if not scheme.mixes_public else secret
    return replace(secret.reveal(release, ("candidates",)), own=public.take(slice(100, None))), secret


def area(release: EncodedRelease, secret: MixingSecret) -> float:
    (claim,) = run(LikelihoodRatio(), release, seeded(0)).claims
    assert isinstance(claim, Membership)
    return float(auc(claim, secret).mean())


@pytest.mark.parametrize("name", SCHEMES)
def test_members_are_told_apart(name: str) -> None:
    scheme, rounds, least = SCHEMES[name]
    release, secret = released(scheme, rounds)
    assert area(release, secret) > least


FEATURES: dict[str, tuple[MixingEncoder, float, float]] = {
    "mixup": (Mixup(k=4), 0.99, 1.0),
    "inside": (InstaHide(k=4), 0.7, 1.0),
    "proof, hardly any noise": (GaussianMixup(epsilon=1e5, delta=1e-3, clip=1.0), 0.99, 1.0),
    "proof, ε = 0.1": (GaussianMixup(epsilon=0.1, delta=1e-3, clip=1.0), 0.36, 0.64),
}


@pytest.mark.parametrize("name", FEATURES)
def test_features_of_which_there_are_more_than_rows(name: str) -> None:
    """Of 120 members and 120 others an AUC by chance deviates by 0.037 from ½; at ε = 0.1 0.52 is proved."""
    scheme, least, most = FEATURES[name]
    values = np.random.default_rng(3).normal(size=(240, 300)) * np.linspace(3, 0.3, 300)
    vectors = values / np.linalg.norm(values, axis=1, keepdims=True)
    images = torch.from_numpy(vectors).float()[:, :, None, None]
    private, others = (
        Samples(images[part], torch.eye(2)[torch.arange(120) % 2]) for part in (slice(120), slice(120, 240))
    )
    release, secret = scheme.hide(private, None, seeded(1))
    secret = replace(secret, others=unlabelled(others))
    assert least <= area(secret.reveal(release, ("candidates",)), secret) <= most


@pytest.mark.parametrize("name", ["mixup", "inside"])
def test_neither_labels_nor_own_images_are_needed(name: str) -> None:
    scheme, rounds, least = SCHEMES[name]
    release, secret = released(scheme, rounds)
    assert area(replace(release, own=None, encoded=unlabelled(release.encoded)), secret) > least - 0.1


def test_the_ratio_is_that_of_the_mixture_of_slots() -> None:
    release, _ = released(Mixup(k=2), count=20)
    gallery = release.candidates
    assert gallery is not None
    fitted = CandidateFilter.of(release.encoded, gallery, None, masked=False)
    assert fitted.usual is None  # twenty rows tell nothing of what is usual
    weights = torch.tensor([[0.7, 0.3]]).expand(20, 2)
    ((some, found),) = fitted.log_likelihood_ratios(release.encoded, weights, 20)
    assert some == slice(0, 20)
    white = fitted.search.maps(release.encoded.pixels())
    energy = inverse_energy(white)
    row, candidate = white[4].flatten().double().numpy(), fitted.candidates[9].double().numpy()
    omega = energy[4].flatten().double().numpy()
    all_scores = np.array(
        [(omega * row) @ each / math.sqrt(omega @ each**2) for each in fitted.candidates.double().numpy()]
    )
    spread = all_scores.std(ddof=1)
    s, g = (all_scores[9] - all_scores.mean()) / spread, math.sqrt(omega @ candidate**2) / spread
    means = [w * part * g for w in (0.7, 0.3) for part in (1, 0.5, 0.25)]
    ratios = [math.exp(mean * s - mean**2 / 2) for mean in means]
    assert float(found[4, 9]) == pytest.approx(math.log(0.9 + 0.1 * np.mean(ratios)), rel=1e-3, abs=1e-4)


def test_what_it_cannot_work_on_is_refused() -> None:
    release, _ = released(Mixup(k=2), count=12)
    gallery = release.candidates
    assert gallery is not None
    encoded = release.encoded
    for changed, reason in (
        (released(Augmented(Mixup(k=2)), count=12)[0], Reason.NOT_LINEAR),
        (
            replace(release, candidates=replace(gallery, images=gallery.images[..., :8, :8])),
            Reason.CANDIDATES_OF_OTHER_SHAPE,
        ),
        (replace(release, candidates=gallery.take(slice(0, 1))), Reason.EQUAL_CANDIDATES),
        (replace(release, encoded=replace(encoded, images=torch.zeros_like(encoded.images))), Reason.UNUSABLE_VALUES),
        (replace(release, candidates=None), Reason.MISSING_FIELDS),
    ):
        with pytest.raises(Refused) as error:
            run(LikelihoodRatio(), changed, seeded(0))
        assert error.value.refusal.reason is reason
