from dataclasses import replace
from itertools import product
from typing import Literal

import pytest
import torch

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide import Coarse, InstaHide, Mixup
from hideseek.records import EncodedRelease, Evidence, PublicImagesFound, Reason, Reconstruction, Refused, Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.score.judge import judge
from hideseek.seek import run
from hideseek.seek.rows.unmask_public import UnmaskPublic
from hideseek.seek.signals.patches import cut
from hideseek.similarity import correlation
from releases import noise_like, photos


def hidden(k: int, k_private: int = 2) -> tuple[Samples, EncodedRelease, MixingSecret]:
    private, public = photos("channel")
    release, secret = InstaHide(k=k, k_private=k_private).hide(private, public, seeded(1))
    return private, release, secret


def claims(evidence: Evidence) -> tuple[Reconstruction, PublicImagesFound]:
    images, public = evidence.claims
    assert isinstance(images, Reconstruction)
    assert isinstance(public, PublicImagesFound)
    return images, public


def shares(public: PublicImagesFound, secret: MixingSecret) -> torch.Tensor:
    truth = secret.public_sources[public.rows]
    return (public.candidates[:, :, None] == truth[:, None]).any(2).float().mean(1)


def scored(release: EncodedRelease, secret: MixingSecret, images: Reconstruction, metric: str) -> torch.Tensor:
    (scores,) = judge(Evidence((images,), {}), secret, seeded(4), (metric,)).scores
    return scores.values


@pytest.mark.parametrize("k", [3, 4])
def test_private_images_of_single_rows_come_back_and_the_attacker_knows_which(k: int) -> None:
    private, release, secret = hidden(k)
    images, public = claims(run(UnmaskPublic(rows=20), release, seeded(3)))
    assert shares(public, secret).mean() > 0.8
    truth = private.pixels(secret.sources[images.about[::2]].flatten())
    guesses = images.images.view(20, 2, *private.shape)
    alike = torch.stack([correlation(truth, guesses.flatten(0, 1)), correlation(truth, guesses.flip(1).flatten(0, 1))])
    best = alike.view(2, 20, 2).mean(2).max(0).values
    assert images.sure is not None
    sure = images.sure[::2]
    assert sure.float().mean() > 0.7
    assert (best[sure] > 0.99).all()
    exact = shares(public, secret)[sure] == 1
    assert exact.all()
    weights = secret.weights[:20, 2:].sort(1, descending=True).values
    assert (public.scores[sure] - weights[sure]).abs().max() < 1e-5


def test_where_nothing_is_exact_the_private_mixture_remains() -> None:
    private, release, secret = hidden(5)
    images, public = claims(run(UnmaskPublic(exact=False, rows=20), release, seeded(3)))
    assert images.sure is not None
    assert not images.sure.any()
    mixed = (
        secret.weights[:20, :2, None, None, None] * private.pixels(secret.sources[:20].flatten()).view(20, 2, 3, 32, 32)
    ).sum(1)
    assert correlation(mixed, images.images[::2]).median() > 0.6
    assert shares(public, secret).mean() > 0.8


def test_a_set_of_three_with_a_wrong_one_is_corrected_and_confirmed() -> None:
    _, release, secret = hidden(5)
    evidence = run(UnmaskPublic(rows=20), release, seeded(3))
    images, public = claims(evidence)
    assert images.sure is not None
    assert evidence.remarks["public images confirmed"] >= 0.6
    assert (shares(public, secret)[images.sure[::2]] == 1).all()


def test_patches_are_found_in_larger_images() -> None:
    private, public = photos("channel")
    size = (3, 24, 24)
    release, secret = InstaHide(k=4, k_private=2).hide(
        cut(private, size, seeded(2)), cut(public, size, seeded(1)), seeded(3)
    )
    evidence = run(UnmaskPublic(rows=20), replace(release, public=public), seeded(4))
    images, found = claims(evidence)
    assert found.larger
    assert shares(found, secret).mean() > 0.6  # by chance 0.005
    assert images.sure is not None
    assert images.sure.float().mean() > 0.3
    assert (shares(found, secret)[images.sure[::2]] == 1).all()


@pytest.mark.parametrize(("k", "labels"), [(4, "withheld"), (5, "rounded"), (3, "drawn")])
def test_where_labels_do_not_tell_weights_rows_do(k: int, labels: Literal["withheld", "rounded", "drawn"]) -> None:
    private, public = photos("channel")
    scheme = InstaHide(k=k, k_private=2)
    release, secret = (scheme if labels == "withheld" else Coarse(scheme, labels=labels)).hide(
        private, public, seeded(1)
    )
    if labels == "withheld":
        bare = replace(release.encoded, labels=torch.empty(len(release.encoded), 0), classes=())
        release = replace(release, encoded=bare)
    images, found = claims(run(UnmaskPublic(rows=20), release, seeded(3)))
    assert shares(found, secret).mean() > 0.7  # by chance 0.005
    assert images.sure is not None
    sure = images.sure[::2]
    assert sure.float().mean() > 0.4
    assert (shares(found, secret)[sure] == 1).all()
    weights = secret.weights[:20, 2:].sort(1, descending=True).values
    assert (found.scores[sure] - weights[sure]).abs().max() < 1e-5
    recovered = scored(release, secret, images, "recovered").view(20, 2)
    assert recovered[sure].all()


@pytest.mark.parametrize("rows", ["float16", "int8"])
def test_rows_that_are_no_float32_confirm_nothing_and_leave_the_mixture(rows: Literal["float16", "int8"]) -> None:
    private, public = photos("channel")
    release, secret = Coarse(InstaHide(k=4, k_private=2), rows=rows).hide(private, public, seeded(1))
    evidence = run(UnmaskPublic(rows=20), release, seeded(3))
    images, found = claims(evidence)
    assert evidence.remarks["rows are exact sums"] == evidence.remarks["confirmed"] == 0
    assert shares(found, secret).mean() > 0.7
    mixed = (
        secret.weights[:20, :2, None, None, None] * private.pixels(secret.sources[:20].flatten()).view(20, 2, 3, 32, 32)
    ).sum(1)
    assert correlation(mixed, images.images[::2]).median() > 0.5


def test_rows_in_double_precision_are_refused_in_a_sentence() -> None:
    _, release, _ = hidden(4)
    with pytest.raises(BadInput, match="float32 or uint8"):
        replace(release.encoded, images=release.encoded.images.double())


def test_noise_confirms_nothing() -> None:
    _, release, secret = hidden(4)
    evidence = run(UnmaskPublic(rows=20), replace(release, encoded=noise_like(release.encoded)), seeded(3))
    assert evidence.remarks["confirmed"] == evidence.remarks["public images confirmed"] == 0
    # 20 rows × 2 images, each by chance with probability 2 / 400: 0.2 expected, 4 or more once in 17,000 times
    assert shares(claims(evidence)[1], secret).sum() * 2 < 4


def test_a_public_set_of_five_and_one_that_was_not_used_find_nothing_sure() -> None:
    _, release, secret = hidden(4)
    assert release.public is not None
    _, others = photos("channel", public=800)
    bare = replace(release.encoded, labels=torch.empty(len(release.encoded), 0), classes=())
    for public, encoded in product(
        (release.public.take(slice(0, 5)), others.take(slice(400, None))), (release.encoded, bare)
    ):
        evidence = run(UnmaskPublic(rows=5), replace(release, public=public, encoded=encoded), seeded(3))
        assert evidence.remarks["public images confirmed"] == evidence.remarks["confirmed"] == 0
        images = replace(evidence, claims=evidence.claims[:1])
        (recovered,) = judge(images, secret, seeded(4), ("recovered",)).scores
        assert not recovered.values.any()


def test_what_is_no_masked_row_with_known_public_images_is_refused() -> None:
    private, release, _ = hidden(4)
    assert release.public is not None
    plain, _ = Mixup(k=4, k_private=2).hide(private, release.public, seeded(1))
    inside, _ = InstaHide(k=4).hide(private, None, seeded(1))
    for given, reason in (
        (plain, Reason.NOT_MASKED),
        (inside, Reason.NO_PUBLIC_IMAGES),
        (replace(release, public=None), Reason.MISSING_FIELDS),
        (replace(release, public=release.public.take(slice(0, 1))), Reason.TOO_FEW_PUBLIC_IMAGES),
    ):
        with pytest.raises(Refused) as error:
            run(UnmaskPublic(), given, seeded(1))
        assert error.value.refusal.reason is reason


def test_bad_rows_and_labels_are_refused_in_a_sentence() -> None:
    _, release, _ = hidden(4)
    rows = release.encoded.images.clone()
    rows[0, 0, 0, 0] = torch.nan
    with pytest.raises(BadInput, match="finite"):
        run(UnmaskPublic(rows=1), replace(release, encoded=replace(release.encoded, images=rows)), seeded(1))
    heavy = replace(release.encoded, labels=3 * release.encoded.labels)
    with pytest.raises(BadInput, match="sum of 1"):
        run(UnmaskPublic(rows=1), replace(release, encoded=heavy), seeded(1))
    with pytest.raises(BadInput, match="rows"):
        UnmaskPublic(rows=0)
