from dataclasses import replace

import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide import InstaHide, Mixup
from hideseek.records import EncodedRelease, PublicImagesFound, Reason, Reconstruction, Refused, Samples
from hideseek.seek import run
from hideseek.seek.rows.mixup_public import MixupPublic
from hideseek.similarity import correlation
from releases import noise_like, photos


def claims(release: EncodedRelease, attack: MixupPublic) -> tuple[PublicImagesFound, Reconstruction]:
    uncovered, remains = run(attack, release, seeded(3)).claims
    assert isinstance(uncovered, PublicImagesFound)
    assert isinstance(remains, Reconstruction)
    return uncovered, remains


@pytest.mark.parametrize("exact", [False, True])
def test_public_images_are_found_and_the_private_one_remains(exact: bool) -> None:
    private, public = photos("image")
    release, secret = Mixup(k=4, k_private=1).hide(private, public, seeded(1))
    uncovered, remains = claims(release, MixupPublic(exact=exact))
    found = (uncovered.candidates[:, :, None] == secret.public_sources[:, None]).any(1)
    assert found.all(1).float().mean() > (0.95 if exact else 0.8)
    alike = correlation(private.pixels(secret.sources[:, 0]), remains.images)
    assert alike.median() > 0.999
    if exact:  # where all were found the private image is exact, but for rounding
        assert (alike[found.all(1)] > 0.9999).float().mean() > 0.9


def test_without_labels_the_sum_of_weights_is_unknown_and_the_attack_works_still() -> None:
    private, public = photos("channel")
    release, secret = Mixup(k=3, k_private=1).hide(
        replace(private, labels=torch.empty(60, 0), classes=()), public, seeded(1)
    )
    uncovered, _ = claims(release, MixupPublic())
    assert (uncovered.candidates[:, :, None] == secret.public_sources[:, None]).any(1).float().mean() > 0.9


def test_noise_holds_no_public_image() -> None:
    private, public = photos("image")
    release, secret = Mixup(k=4, k_private=1).hide(private, public, seeded(1))
    evidence = run(MixupPublic(), replace(release, encoded=noise_like(release.encoded)), seeded(3))
    uncovered = evidence.claims[0]
    assert isinstance(uncovered, PublicImagesFound)
    hits = (uncovered.candidates[:, :, None] == secret.public_sources[:, None]).any(1).sum()
    # 60 rows × 3 images, each found by chance with probability 3 / 400: 1.35 expected, 8 or more once in 20,000 times
    assert hits < 8
    assert evidence.remarks["confirmed"] == 0


def test_a_masked_release_and_a_missing_public_set_are_refused() -> None:
    private, public = photos("channel")
    masked, _ = InstaHide(k=4, k_private=2).hide(private, public, seeded(1))
    plain, _ = Mixup(k=4, k_private=1).hide(private, public, seeded(1))
    for release, reason in (
        (masked, Reason.MASKED),
        (replace(masked, public=None), Reason.MASKED),  # public images would not help
        (replace(plain, public=None), Reason.MISSING_FIELDS),
    ):
        with pytest.raises(Refused) as error:
            run(MixupPublic(), release, seeded(1))
        assert error.value.refusal.reason is reason


def test_one_public_image_a_row_and_a_single_row_will_do() -> None:
    private, public = photos("image")
    release, secret = Mixup(k=2, k_private=1).hide(private, public, seeded(1))
    for rows in (None, 1):
        uncovered, _ = claims(release, MixupPublic(rows=rows))
        assert (uncovered.candidates == secret.public_sources[: len(uncovered.rows)]).float().mean() > 0.9


def test_a_blank_public_image_is_not_found_everywhere() -> None:
    private, public = photos("image")
    blank = replace(public, images=public.images.clone())
    blank.images[7] = 0
    blank.scale[7], blank.shift[7] = 0, 0
    release, secret = Mixup(k=4, k_private=1).hide(private, blank, seeded(1))
    uncovered, _ = claims(release, MixupPublic(exact=False))
    assert (uncovered.candidates == 7).float().mean() < 0.1
    assert (uncovered.candidates[:, :, None] == secret.public_sources[:, None]).any(1).float().mean() > 0.8


def test_features_have_no_neighbours_and_are_attacked_still() -> None:
    generator = np.random.default_rng(0)
    private, public = (
        Samples(torch.from_numpy(values), torch.eye(2)[torch.arange(len(values)) % 2])
        for values in (generator.standard_normal((n, 64, 1, 1), dtype=np.float32) for n in (30, 100))
    )
    release, _ = Mixup(k=3, k_private=1).hide(private, public, seeded(1))
    assert run(MixupPublic(), release, seeded(1)).remarks["confirmed"] == 0


def test_no_rows_are_one_sentence() -> None:
    with pytest.raises(BadInput, match="rows must be 1 or more"):
        MixupPublic(rows=0)
