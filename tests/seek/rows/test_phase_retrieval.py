from dataclasses import replace

import pytest
import torch

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide import Augmented, InstaHide, Mixup
from hideseek.records import EncodedRelease, Normalisation, PublicImagesFound, Reason, Reconstruction, Refused
from hideseek.seek.rows.phase_retrieval import PhaseRetrieval, range_votes
from hideseek.seek.run import run
from hideseek.similarity import correlation
from linear_systems import released
from releases import photos
from toys import images


def given(scheme: InstaHide, rounds: int, count: int = 20) -> EncodedRelease:
    private, public = photos("channel")
    return released(scheme, private.take(slice(0, count)), public if scheme.mixes_public else None, rounds)


def recovered(attack: PhaseRetrieval, release: EncodedRelease, count: int = 20) -> torch.Tensor:
    claim = run(attack, release, seeded(0)).claims[0]
    assert isinstance(claim, Reconstruction)
    assert claim.of == "images"
    return correlation(claim.images, photos("channel")[0].take(slice(0, count)).pixels())


def test_private_mixtures_are_undone_with_their_sign() -> None:
    alike = recovered(PhaseRetrieval(), replace(given(InstaHide(k=2), 8), own=photos("channel")[1]))
    assert float(alike.median()) > 0.95


def test_public_images_that_are_known_leave_no_noise() -> None:
    private, public = photos("channel")
    images = private.take(slice(0, 12))
    release, secret = InstaHide(k=4, k_private=2).hide(images, public, seeded(1), 12)
    release = secret.reveal(release, ("sources", "weights"))
    noisy = recovered(PhaseRetrieval(searches=0), release, 12)
    solved, found = run(PhaseRetrieval(), release, seeded(0)).claims
    assert isinstance(solved, Reconstruction)
    assert float(correlation(solved.images, images.pixels()).median()) > 0.99 > float(noisy.median()) > 0.5
    assert isinstance(found, PublicImagesFound)
    assert secret.public_sources is not None
    right = found.candidates.sort(1).values == secret.public_sources.sort(1).values
    assert float(right.float().mean()) > 0.9
    assert bool((found.scores[:, 0] >= found.scores[:, 1]).all())


def test_it_needs_no_images_like_the_private_ones() -> None:
    release = replace(given(InstaHide(k=2), 8), own=None, public=None)
    assert float(recovered(PhaseRetrieval(), release).abs().median()) > 0.9


@pytest.mark.parametrize(
    ("scheme", "reason"),
    [
        (Mixup(), Reason.NOT_MASKED),
        (Augmented(InstaHide()), Reason.NOT_LINEAR),
        (InstaHide(k=2, k_private=1), Reason.ONE_PRIVATE_IMAGE),
    ],
)
def test_it_refuses(scheme: InstaHide, reason: Reason) -> None:
    public = images(30, seed=1) if scheme.mixes_public else None
    with pytest.raises(Refused) as error:
        run(PhaseRetrieval(), released(scheme, images(12), public, 2), seeded(0))
    assert error.value.refusal.reason is reason


def test_features_have_no_neighbours() -> None:
    with pytest.raises(Refused, match="neighbouring pixels"):
        run(PhaseRetrieval(), released(InstaHide(), images(12, 30, 1, 1), rounds=2), seeded(0))


def test_sources_that_cannot_be_are_refused() -> None:
    release = given(InstaHide(k=2), 2)
    assert release.sources is not None
    with pytest.raises(BadInput, match="places among 20 images"):
        run(PhaseRetrieval(), replace(release, sources=release.sources + 20), seeded(0))
    with pytest.raises(Refused, match="sources of all 40 rows"):
        run(PhaseRetrieval(), replace(release, sources=release.sources[:30]), seeded(0))


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(BadInput, match="one step or more"):
        PhaseRetrieval(steps=0)


def test_negatives_are_blacker_than_black_and_whiter_than_white() -> None:
    private, _ = photos("channel")
    release, _ = InstaHide(k=2).hide(private, None, seeded(0))
    right = private.pixels()
    assert range_votes(right, -right, release) > len(right) / 2
    assert range_votes(-right, right, release) < -len(right) / 2
    unknown = replace(release, encoded=replace(release.encoded, normalisation=Normalisation("image")))
    assert range_votes(right, -right, unknown) == 0
