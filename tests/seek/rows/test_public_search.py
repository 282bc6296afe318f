from dataclasses import replace

import numpy as np
import pytest
import torch
from skimage.metrics import structural_similarity

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide import InstaHide, Mixup
from hideseek.records import EncodedRelease, PublicImagesFound, Reason, Refused
from hideseek.seek import run
from hideseek.seek.networks.learned_search import Learned
from hideseek.seek.rows.braverman import Braverman
from hideseek.seek.rows.mixup_public import MixupPublic
from hideseek.seek.rows.public_search import PublicSearch
from hideseek.seek.signals.patches import cut
from hideseek.seek.signals.ssim_search import Ssim
from releases import noise_like, photos


def search(release: EncodedRelease, attack: PublicSearch) -> PublicImagesFound:
    (claim,) = run(attack, release, seeded(1)).claims
    assert isinstance(claim, PublicImagesFound)
    return claim


def hits(claim: PublicImagesFound, sources: torch.Tensor, top: int) -> float:
    found = claim.candidates[:, :top, None] == sources[claim.rows][:, None]
    return float(found.any(2).any(1).float().mean())


@pytest.mark.parametrize(("scheme", "least"), [(Mixup(k=4, k_private=2), 0.9), (InstaHide(k=4, k_private=2), 0.75)])
def test_white_search_finds_public_images_even_under_a_mask(scheme: Mixup | InstaHide, least: float) -> None:
    private, public = photos("channel")
    release, secret = scheme.hide(private, public, seeded(1), rounds=5)
    assert hits(search(release, PublicSearch()), secret.public_sources, 1) > least


def test_noise_is_at_chance() -> None:
    private, public = photos("channel")
    release, secret = InstaHide(k=4, k_private=2).hide(private, public, seeded(1), rounds=5)
    claim = search(replace(release, encoded=noise_like(release.encoded)), PublicSearch())
    # 300 rows, a hit among ten of 400 with probability 0.05: 15 expected, 30 or more once in 5,000 times
    assert hits(claim, secret.public_sources, 10) < 0.1


def test_ssim_is_as_in_scikit_image_and_finds_what_is_in_mixup() -> None:
    private, public = photos("channel")
    release, secret = Mixup(k=2, k_private=1).hide(private.take(slice(0, 12)), public.take(slice(0, 60)), seeded(1))
    claim = search(release, PublicSearch(Ssim(), top=60))
    assert hits(claim, secret.public_sources, 1) > 0.4  # by chance, 1 in 60
    assert release.public is not None
    images, row = release.public.pixels().numpy(), release.encoded.pixels()[3].numpy()
    width = float(images.max() - images.min())
    expected = [structural_similarity(row, image, channel_axis=0, data_range=width) for image in images]
    np.testing.assert_allclose(claim.scores[3].numpy(), np.sort(expected)[::-1], atol=1e-4)


def test_patches_are_found_in_whole_images() -> None:
    private, public = photos("channel")
    size = (3, 20, 20)
    patches, own = cut(public, size, seeded(1)), cut(private, size, seeded(2))
    release, secret = Mixup(k=3, k_private=1).hide(own, patches, seeded(3), rounds=5)
    claim = search(replace(release, public=public), PublicSearch(rows=30, top=5))
    assert hits(claim, secret.public_sources, 1) > 0.5  # by chance, 1 in 200
    assert claim.larger
    for attack in (MixupPublic(), Braverman()):
        with pytest.raises(Refused, match="needs the very public images that were mixed in") as error:
            run(attack, replace(release, public=public), seeded(1))
        assert error.value.refusal.reason is Reason.LARGER_PUBLIC_IMAGES


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(BadInput, match="top must be 1 or more"):
        PublicSearch(top=0)
    with pytest.raises(BadInput, match="steps must be 1 or more"):
        Learned(steps=0)


def test_what_cannot_be_searched_is_refused() -> None:
    private, public = photos("channel")
    release, _ = InstaHide(k=4, k_private=2).hide(private, public, seeded(1))
    inside, _ = InstaHide(k=4).hide(private, None, seeded(1))
    small = cut(public, (3, 20, 20), seeded(1))
    for attack, attacked, reason in (
        (PublicSearch(Learned()), release, Reason.TOO_FEW_PUBLIC_IMAGES),
        (PublicSearch(), replace(inside, public=public), Reason.NO_PUBLIC_IMAGES),
        (PublicSearch(), replace(release, public=small), Reason.PUBLIC_IMAGES_OF_OTHER_SIZE),
        (PublicSearch(), replace(release, public=None), Reason.MISSING_FIELDS),
    ):
        with pytest.raises(Refused) as error:
            run(attack, attacked, seeded(1))
        assert error.value.refusal.reason is reason


@pytest.mark.parametrize("kind", ["image", "channel"])
def test_ssim_does_not_depend_on_blocks(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    private, public = photos(kind)
    release, _ = Mixup(k=2, k_private=1).hide(private.take(slice(0, 4)), public.take(slice(0, 60)), seeded(1))
    whole = search(release, PublicSearch(Ssim(), top=60))
    monkeypatch.setattr("hideseek.seek.signals.ssim_search.BLOCK", 13)
    parts = search(release, PublicSearch(Ssim(), top=60))
    torch.testing.assert_close(whole.scores, parts.scores)
