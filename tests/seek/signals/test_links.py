"""Links by labels and white products, against a few lines of NumPy; and that noise adds nothing to labels."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.stats import norm
from torch.nn import functional

from hideseek.chance import seeded
from hideseek.hide import InstaHide, Mixup
from hideseek.records import EncodedRelease, Links, MixingEncoder, Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.score.links import auc
from hideseek.seek.signals.links import NEVER, RowClasses, links, log_odds, unsigned_rows, white_rows
from releases import noise_like, photos


def released(scheme: MixingEncoder, rounds: int = 10) -> tuple[EncodedRelease, MixingSecret]:
    private, public = photos("channel")
    return scheme.hide(private.take(slice(0, 40)), public if scheme.mixes_public else None, seeded(1), rounds)


def linked(release: EncodedRelease, queries: int = 40) -> Links:
    rows = unsigned_rows(release)
    unit = functional.normalize(white_rows(rows - rows.mean(0)))
    return links(unit, release, seeded(2).permutation(len(rows))[:queries])


def by_labels(claim: Links, release: EncodedRelease) -> Links:
    """Score pairs by how many images they share on average, given their labels."""
    rates = expected_images(release.encoded.labels.numpy(), release.scheme.images_per_row.private)
    sizes = rates.sum(0) / (release.scheme.images_per_row.private * release.rounds)
    scores = (rates[claim.first.numpy()] * rates[claim.second.numpy()] / np.maximum(sizes, 1e-9)).sum(1)
    return replace(claim, scores=torch.from_numpy(scores).float())


def expected_images(labels: np.ndarray, private: int) -> np.ndarray:
    """One image of each class that is there, the others in proportion."""
    expected = np.zeros_like(labels)
    for row, label in enumerate(labels):
        there = label > 0
        expected[row, there] = 1 + (private - there.sum()) * label[there] / label.sum()
    return expected


@pytest.mark.parametrize("scheme", [Mixup(k=3), InstaHide(k=4, k_private=2)])
def test_labels_tell_how_many_images_of_a_class_are_in_a_row(scheme: MixingEncoder) -> None:
    release, secret = released(scheme)
    classes, labels = RowClasses.of(release), release.encoded.labels.numpy()
    private = scheme.images_per_row.private
    expected = expected_images(labels, private)
    np.testing.assert_allclose(classes.images.numpy(), expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(classes.images.sum(1).numpy(), private, rtol=1e-4)
    np.testing.assert_allclose((classes.weights * classes.images).numpy(), labels, rtol=1e-4, atol=1e-6)
    truth = secret.private.labels.sum(0).numpy()
    np.testing.assert_allclose(classes.sizes.numpy(), truth, rtol=0.15, atol=0.5)  # every image is in kT rows


def test_what_two_rows_share_on_average() -> None:
    """Two rows with m and m' of the n_c images of a class share m m' / n_c of them."""
    release, _ = released(Mixup(k=3))
    classes = RowClasses.of(release)
    rates, weights = classes.shared(5, torch.tensor([7, 8, 9]), most=3)
    images, each = classes.images.numpy(), classes.weights.numpy()
    own = np.argsort(-images[5], kind="stable")[:3]
    wanted = images[5, own] * images[7:10][:, own] / np.maximum(classes.sizes.numpy()[own], 1e-9)
    np.testing.assert_allclose(rates.sum(0).numpy(), wanted.sum(1), rtol=1e-5)
    np.testing.assert_allclose(weights.sum(0).numpy(), (each[5, own] * each[7:10][:, own]).sum(1), rtol=1e-5)


def test_soft_labels_of_every_class_leave_all_pairs_possible() -> None:
    release, _ = released(Mixup(k=2))
    soft = 0.9 * release.encoded.labels + 0.1 / release.encoded.labels.shape[1]
    classes = RowClasses.of(replace(release, encoded=replace(release.encoded, labels=soft)))
    assert (classes.images > 0).all()
    np.testing.assert_allclose(classes.images.sum(1).numpy(), 2, rtol=1e-4)


@pytest.mark.parametrize(("product", "deviation"), [(-2.0, 0.5), (0.3, 2.0), (4.0, 3.0), (0.0, 0.0)])
def test_odds_are_those_of_a_product_with_and_without_a_shared_image(product: float, deviation: float) -> None:
    """The likelihood under β = |N(0, δ²)| is an integral over β."""

    def density(strength: float) -> float:
        return float(norm.pdf(product - strength) * 2 * norm.pdf(strength, scale=deviation))

    shared = quad(density, 0, 40, limit=200)[0] if deviation else norm.pdf(product)
    found = log_odds(*(torch.tensor([value], dtype=torch.float64) for value in (product, 0.2, deviation)))
    assert float(found) == pytest.approx(np.log(0.2 * shared / norm.pdf(product)), abs=1e-6)


@pytest.mark.parametrize(
    ("scheme", "gain"), [(Mixup(k=3), 0.1), (InstaHide(k=3), 0.03), (InstaHide(k=4, k_private=2), 0.01)]
)
def test_pixels_and_labels_together_tell_more_than_either(scheme: MixingEncoder, gain: float) -> None:
    release, secret = released(scheme)
    both = linked(release)
    unlabelled = replace(release, encoded=Samples(release.encoded.pixels(), torch.empty(len(release.encoded), 0)))
    areas = [float(auc(claim, secret).mean()) for claim in (both, linked(unlabelled), by_labels(both, release))]
    assert areas[0] > areas[1] + 0.01
    assert areas[0] > areas[2] + gain


@pytest.mark.parametrize("scheme", [Mixup(k=3), InstaHide(k=4, k_private=2)])
def test_noise_adds_nothing_to_labels(scheme: MixingEncoder) -> None:
    """Some 400 pairs of a row, 40 rows: the mean AUC of chance scatters by some 0.005 at most."""
    release, secret = released(scheme)
    noise = replace(release, encoded=noise_like(release.encoded))
    claim = linked(noise)
    labels = float(auc(by_labels(claim, release), secret).mean())
    assert labels > 0.6
    assert float(auc(claim, secret).mean()) == pytest.approx(labels, abs=0.01)


def test_noise_with_the_labels_of_other_rows_is_at_chance() -> None:
    release, secret = released(InstaHide(k=4, k_private=2))
    noise = noise_like(release.encoded)
    shuffled = replace(noise, labels=noise.labels[seeded(4).permutation(len(noise))])
    claim = linked(replace(release, encoded=shuffled))
    assert float(auc(claim, secret).mean()) == pytest.approx(0.5, abs=0.02)


def test_rows_without_a_common_class_come_last() -> None:
    release, secret = released(Mixup(k=2))
    claim, labels = linked(release), release.encoded.labels > 0
    common = (labels[claim.first] & labels[claim.second]).any(1)
    assert not common.all()
    assert (claim.scores[~common] == NEVER).all()
    assert claim.scores[common].min() > NEVER
    shared = (secret.sources[claim.first][:, :, None] == secret.sources[claim.second][:, None]).any(2).any(1)
    assert not shared[~common].any()


def test_without_labels_pairs_are_ordered_by_their_products() -> None:
    release, _ = released(InstaHide(k=2))
    bare = Samples(release.encoded.pixels(), torch.empty(len(release.encoded), 0))
    release = replace(release, encoded=bare)
    rows = unsigned_rows(release)
    unit = functional.normalize(white_rows(rows - rows.mean(0)))
    claim = links(unit, release, torch.tensor([3]))
    products = (unit[3] @ unit.T)[claim.second]
    assert (claim.scores[products.argsort()].diff() >= 0).all()
    assert 3 not in claim.second
    np.testing.assert_array_equal(claim.first, 3)


def test_features_and_equal_rows_do_no_harm() -> None:
    """Rows of one pixel high, and rows that are all the same."""
    features = Samples(torch.randn(30, 1, 1, 12), torch.eye(3).repeat(10, 1))
    release, _ = InstaHide(k=2).hide(features, None, seeded(0), 3)
    assert linked(release, 10).scores.isfinite().all()
    flat = replace(release, encoded=replace(release.encoded, images=torch.ones(90, 1, 1, 12)))
    assert linked(flat, 10).scores.isfinite().all()
