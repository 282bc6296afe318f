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
from hideseek.seek.signals.matched_filter import Candidates, inverse_energy, nearest, strongest, weigh
from hideseek.seek.systems.flat_pairs import SURE, exact_weights, smoothest
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


def test_the_strongest_candidate_is_the_best_weighted_fit() -> None:
    generator = np.random.default_rng(0)
    rows, weights = generator.standard_normal((4, 6)), generator.random((4, 6)) + 0.1
    images = generator.standard_normal((9, 1, 2, 3)).astype(np.float32)
    gains = np.full((4, 9), -np.inf)
    for r, s in np.ndindex(4, 9):
        image = images[s].ravel().astype(np.float64)
        slope = (weights[r] * rows[r] * image).sum() / (weights[r] * image**2).sum()
        before, after = ((weights[r] * (rows[r] - f * image) ** 2).sum() for f in (0.0, slope))
        gains[r, s] = before - after if slope > 0 else 0
    candidates = Candidates(Samples(torch.from_numpy(images), torch.empty(9, 0)), lambda x: x)
    without = torch.from_numpy(gains.argmax(1))[:, None]
    best, places = strongest(torch.from_numpy(rows).float(), torch.from_numpy(weights).float(), candidates, 3, without)
    np.put_along_axis(gains, without.numpy(), -np.inf, axis=1)
    expected = np.sort(gains, 1)[:, ::-1][:, :3]
    np.testing.assert_allclose(best.numpy(), expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(np.take_along_axis(gains, places.numpy(), 1), expected, rtol=1e-4, atol=1e-6)


def test_blocks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    _, public = photos("channel")
    queries = public.pixels(slice(0, 30)).flatten(1)
    whole = nearest(queries, Candidates(public, lambda x: x), 5)
    monkeypatch.setattr("hideseek.seek.signals.matched_filter.CANDIDATES", 37)
    monkeypatch.setattr("hideseek.seek.signals.matched_filter.QUERIES", 7)
    monkeypatch.setattr("hideseek.seek.signals.matched_filter.KEPT", 0)
    parts = nearest(queries, Candidates(public, lambda x: x), 5)
    torch.testing.assert_close(whole[0], parts[0], rtol=1e-5, atol=1e-3)
    assert torch.equal(whole[1], parts[1])


def test_weights_are_those_of_weighted_least_squares() -> None:
    generator = np.random.default_rng(1)
    rows, images, weights = generator.random((2, 8)), generator.random((2, 3, 8)), generator.random((2, 8))
    fitted, rest = weigh(*(torch.from_numpy(a).float() for a in (rows, images, weights)))
    for r in range(2):
        root = np.sqrt(weights[r])
        expected = np.linalg.lstsq((images[r] * root).T, rows[r] * root, rcond=None)[0]
        np.testing.assert_allclose(fitted[r].numpy(), expected, rtol=1e-2, atol=1e-3)
        np.testing.assert_allclose(rest[r].numpy(), rows[r] - fitted[r].numpy() @ images[r], atol=1e-5)


def test_places_weigh_one_over_their_local_energy() -> None:
    residual = torch.ones(1, 1, 9, 9)
    residual[..., 5:] = 10.0
    weights = inverse_energy(residual)[0, 0]
    assert weights[4, 1] / weights[4, 8] == pytest.approx((100 + 0.02 * 45) / (1 + 0.02 * 45), rel=0.1)


def test_flat_pairs_give_exact_weights_and_only_for_the_right_images() -> None:
    private, public = photos("image")
    release, secret = Mixup(k=3, k_private=1).hide(private, public, seeded(5))
    own = secret.weights[:, 0, None, None, None] * private.pixels(secret.sources[:, 0])
    supported = []
    for row in range(20):
        images = public.pixels(secret.public_sources[row]).flatten(1)
        wrong = public.pixels((secret.public_sources[row] + 7) % len(public)).flatten(1)
        pairs = smoothest(release.encoded.pixels()[row], own[row])
        mass = 1 - float(release.encoded.labels[row].sum())
        weights, support = exact_weights(pairs, images, mass, seeded(row))
        supported.append(support >= SURE)
        if support >= SURE:
            np.testing.assert_allclose(weights, secret.weights[row, 1:].numpy(), atol=1e-5)
        assert exact_weights(pairs, wrong, mass, seeded(row))[1] < SURE
    assert sum(supported) > 15


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
