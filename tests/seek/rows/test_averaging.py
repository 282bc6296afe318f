"""Averaging encodings of one image: it works on Mixup, and finds nothing in noise."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from skimage.metrics import structural_similarity

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide import InstaHide, Mixup
from hideseek.records import EncodedRelease, Links, MixingEncoder, Reason, Reconstruction, Refused, Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.score.roc import auc
from hideseek.seek import run
from hideseek.seek.networks.restore_signs import RestoreSigns
from hideseek.seek.rows.averaging import AverageKnown, AverageSearch
from hideseek.similarity import correlation
from releases import noise_like, photos


def hidden(scheme: MixingEncoder, images: int = 40, rounds: int = 30) -> tuple[EncodedRelease, MixingSecret]:
    """A release whose attacker knows for which image each row was made."""
    private = photos("channel")[0].take(slice(images))
    release, secret = scheme.hide(private, None, seeded(0), rounds)
    return secret.reveal(release, ("made_for",)), secret


def guess(release: EncodedRelease, attack: AverageKnown | AverageSearch) -> Reconstruction:
    claim = run(attack, release, seeded(1)).claims[0]
    assert isinstance(claim, Reconstruction)
    return claim


def likeness(claim: Reconstruction, truth: torch.Tensor) -> float:
    return float(correlation(truth[claim.about], claim.images).mean())


def test_known_rows_of_mixup_average_to_the_image() -> None:
    """The mean image correlates by about 0.1 with an image, another image by 0; thirty rows of k = 4 by far more."""
    release, secret = hidden(Mixup(k=4))
    truth = secret.private.pixels()
    claim = guess(release, AverageKnown())
    assert claim.of == "images"
    assert claim.about.tolist() == list(range(40))
    found = likeness(claim, truth)
    mean_image = float(correlation(truth, truth.mean(0).expand_as(truth)).mean())
    other_image = likeness(claim, truth.roll(1, 0))
    assert found > 0.7
    assert found > mean_image + 0.4
    assert found > other_image + 0.4
    assert likeness(guess(replace(release, weights=secret.weights), AverageKnown()), truth) > found + 0.05


def test_known_rows_under_a_mask_tell_absolute_values() -> None:
    release, secret = hidden(InstaHide(k=2))
    truth = secret.private.pixels()
    claim = guess(release, AverageKnown())
    assert (claim.images >= 0).all()
    found, other = likeness(claim, truth.abs()), likeness(claim, truth.abs().roll(1, 0))
    assert found > 0.6
    assert found > other + 0.4
    assert abs(likeness(claim, truth)) < found - 0.2  # signs are another matter


@pytest.mark.parametrize("scheme", [Mixup(k=3), InstaHide(k=3)])
def test_known_against_the_equations(scheme: MixingEncoder) -> None:
    release, secret = hidden(scheme, images=5, rounds=4)
    rows = release.encoded.pixels().double().numpy()
    rows = np.abs(rows) if scheme.masked else rows
    weights, middle = secret.weights[:, 0].double().numpy(), rows.mean(0)
    for known in (False, True):
        claim = guess(replace(release, weights=secret.weights if known else None), AverageKnown())
        for image in range(5):
            own = [r for r in range(20) if secret.sources[r, 0] == image]
            assert len(own) == 4
            if known and not scheme.masked:
                expected = middle + sum(weights[r] * (rows[r] - middle) for r in own) / sum(weights[own] ** 2)
            elif known:
                expected = sum(weights[r] * rows[r] for r in own) / sum(weights[own])
            else:
                expected = sum(rows[r] for r in own) / 4
            np.testing.assert_allclose(claim.images[image].numpy(), expected, atol=2e-5)


def test_images_without_a_row_are_not_guessed() -> None:
    release, _ = hidden(Mixup(k=2), images=4, rounds=1)
    assert release.made_for is not None
    made_for = torch.where(release.made_for == 1, 3, release.made_for)
    assert guess(replace(release, made_for=made_for), AverageKnown()).about.tolist() == [0, 2, 3]


def test_noise_averages_to_nothing() -> None:
    """Correlations of 3,072 pixels of noise with anything deviate by 0.018, and their mean over 20 by 0.004."""
    release, secret = hidden(Mixup(k=4), images=20, rounds=20)
    release = replace(release, encoded=noise_like(release.encoded))
    truth = secret.private.pixels()
    assert abs(likeness(guess(release, AverageKnown()), truth)) < 0.016
    claim = guess(release, AverageSearch(queries=20))
    found = correlation(truth[secret.sources[claim.about, 0]], claim.images)
    assert abs(float(found.mean())) < 0.016


def best(claim: Reconstruction, secret: MixingSecret) -> float:
    """How like the most similar image of its row a guess is."""
    truth = secret.private.pixels()
    each = [correlation(truth[places], claim.images) for places in secret.sources[claim.about].T]
    return float(torch.stack(each).max(0).values.mean())


def sharing(links: Links, secret: MixingSecret) -> torch.Tensor:
    return (secret.sources[links.first][:, :, None] == secret.sources[links.second][:, None]).any(2).any(1)


def test_search_in_mixup_finds_rows_that_share_an_image() -> None:
    """The average is more like an image of the row than the row is, and than averages with rows taken at random."""
    release, secret = hidden(Mixup(k=2), images=20, rounds=20)
    evidence = run(AverageSearch(), release, seeded(1))
    claim, links = evidence.claims
    assert isinstance(claim, Reconstruction)
    assert isinstance(links, Links)
    assert claim.of == "items"
    assert len(claim.about) == len(claim.about.unique()) == 50
    rows = release.encoded.pixels()
    alone = replace(claim, images=rows[claim.about])
    at_random = rows[seeded(2).integers(400, 50, 5)].sum(1)
    mixed = replace(claim, images=(rows[claim.about] + at_random) / 6)
    assert best(claim, secret) > best(alone, secret) + 0.03
    assert best(claim, secret) > best(mixed, secret) + 0.1
    assert auc(links.scores, sharing(links, secret)) > 0.63  # 20,000 pairs; at chance 0.5 ± 0.01


def test_search_in_noise_links_nothing() -> None:
    """Scores of 20 × 399 pairs that do not depend on who shares an image: three deviations are under 0.03."""
    release, secret = hidden(InstaHide(k=4), images=20, rounds=20)
    release = replace(release, encoded=noise_like(release.encoded))
    links = run(AverageSearch(queries=20), release, seeded(1)).claims[1]
    assert isinstance(links, Links)
    assert abs(auc(links.scores, sharing(links, secret)) - 0.5) < 0.03


@pytest.mark.parametrize("scheme", [Mixup(k=2), InstaHide(k=2)])
def test_search_against_scikit_image(scheme: MixingEncoder) -> None:
    release, _ = hidden(scheme, images=12, rounds=1)
    evidence = run(AverageSearch(queries=99, nearest=3), release, seeded(1))
    claim, links = evidence.claims
    assert isinstance(claim, Reconstruction)
    assert isinstance(links, Links)
    rows = release.encoded.pixels().double().numpy()
    rows = np.abs(rows) if scheme.masked else rows
    width = rows.max() - rows.min()
    assert evidence.remarks["data range"] == pytest.approx(width)
    assert claim.about.tolist() == list(range(12))  # at most all
    pairs = [(a, b) for a in range(12) for b in range(12) if a != b]
    assert list(zip(links.first.tolist(), links.second.tolist(), strict=True)) == pairs
    likeness = np.full((12, 12), -np.inf)
    for a, b in pairs:
        likeness[a, b] = structural_similarity(rows[a], rows[b], channel_axis=0, data_range=width)
    np.testing.assert_allclose(links.scores.numpy(), [likeness[pair] for pair in pairs], atol=1e-4)
    for row in range(12):
        nearest = np.argsort(-likeness[row])[:3]
        np.testing.assert_allclose(claim.images[row].numpy(), rows[[row, *nearest]].mean(0), atol=1e-5)


def test_restored_signs_are_averaged_where_asked_for() -> None:
    """The attack uses the mean of what a pixel may have been, of the network that the same chance trains."""
    private, own = (replace(part, images=part.images[..., 8:24, 8:24]).take(slice(20)) for part in photos("channel"))
    release, secret = InstaHide(k=2).hide(private, None, seeded(0), rounds=2)
    release = replace(release, own=own, made_for=secret.sources[:, 0])
    quick = RestoreSigns(rows=64, width=2)
    evidence = run(AverageKnown(signs=quick), release, seeded(1))
    restore = quick.train(release, seeded(1))
    expected = restore.expected(release.encoded.pixels())
    (claim,) = evidence.claims
    assert isinstance(claim, Reconstruction)
    torch.testing.assert_close(claim.images[7], expected[secret.sources[:, 0] == 7].mean(0))
    assert evidence.remarks["wrong signs"] == restore.wrong
    searched = run(AverageSearch(queries=2, signs=quick), release, seeded(1))
    assert searched.remarks["data range"] == pytest.approx(float(expected.max() - expected.min()))


def test_there_is_nothing_to_restore_without_a_mask() -> None:
    release, _ = hidden(Mixup(k=2), images=4, rounds=2)
    plain, asked = (guess(release, AverageKnown(signs=signs)) for signs in (None, RestoreSigns()))
    assert torch.equal(plain.images, asked.images)


def test_rows_of_one_value_do_no_harm() -> None:
    release, _ = hidden(Mixup(k=2), images=4, rounds=2)
    flat = Samples(torch.ones_like(release.encoded.images), release.encoded.labels)
    assert torch.equal(guess(replace(release, encoded=flat), AverageSearch()).images, flat.images)


@pytest.mark.parametrize(
    ("attack", "changes", "reason"),
    [
        (AverageKnown(), {"made_for": None}, Reason.MISSING_FIELDS),
        (AverageKnown(), {"made_for": torch.zeros(5, dtype=torch.int64)}, Reason.INCOMPLETE_SOURCES),
        (AverageSearch(nearest=8), {}, Reason.TOO_FEW_ROWS),
        (AverageKnown(signs=RestoreSigns()), {"scheme": InstaHide()}, Reason.NO_OWN_IMAGES),
    ],
)
def test_what_cannot_be_attacked_is_refused(attack: Any, changes: dict[str, Any], reason: Reason) -> None:
    release, _ = hidden(Mixup(k=2), images=4, rounds=2)
    with pytest.raises(Refused) as error:
        run(attack, replace(release, **changes), seeded(0))
    assert error.value.refusal.reason is reason


@pytest.mark.parametrize("settings", [{"queries": 0}, {"nearest": 0}])
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="must be 1 or more"):
        AverageSearch(**settings)
