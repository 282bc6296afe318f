"""Encoding the images that a model is asked about."""

import numpy as np
import pytest
import torch

import toys
from hideseek.chance import secure, seeded
from hideseek.data import load, normalise
from hideseek.errors import BadInput
from hideseek.hide import Augmented, InstaHide, Laplace, Mixup, RecipeEncoder
from hideseek.hide.mixing.queries import about_pool, hide_queries, joined
from hideseek.records import Samples
from hideseek.score.judge import judge
from hideseek.seek.rows.mixup_pairs import MixupPairs


def test_a_query_is_an_image_with_partners_from_the_pool() -> None:
    """Without a mask, least squares over image and pool finds weights that sum to one, and of no other query."""
    images, pool = toys.images(6, 1, 8, 8, stored=False), toys.images(20, 1, 8, 8, stored=False, seed=1)
    encoded, shares = Mixup(k=4).queries(pool, None, secure())(images)
    table = torch.cat([images.images, pool.images]).flatten(1).double().numpy()
    weights = np.linalg.lstsq(table.T, encoded.flatten(1).double().numpy().T, rcond=None)[0].T
    asked, partners = weights[:, :6], weights[:, 6:]
    np.testing.assert_allclose(weights.sum(1), 1, atol=1e-4)
    assert (np.diag(asked) > 1e-4).all()
    np.testing.assert_allclose(np.diag(asked), shares, atol=1e-4)
    np.testing.assert_allclose(asked - np.diag(np.diag(asked)), 0, atol=1e-4)
    assert ((partners > 1e-4).sum(1) == 3).all()


def test_a_query_takes_public_images_too() -> None:
    images, pool = toys.images(6, 1, 8, 8, stored=False), toys.images(20, 1, 8, 8, seed=1)
    public = toys.images(10, 1, 8, 8, seed=2)
    encoded = InstaHide(k=4, k_private=2).queries(pool, public, secure())(images).images
    plain = Mixup(k=4, k_private=2, largest=0.65).queries(pool, public, secure())(images).images
    table = torch.cat([images.images, pool.pixels(), public.pixels()]).flatten(1).double().numpy()
    weights = np.linalg.lstsq(table.T, plain.flatten(1).double().numpy().T, rcond=None)[0].T
    assert encoded.shape == images.images.shape
    assert ((weights[:, 6:26] > 1e-4).sum(1) == 1).all()
    assert ((weights[:, 26:] > 1e-4).sum(1) == 2).all()


def test_more_queries_than_the_pool_has_images() -> None:
    encode = InstaHide(k=4).queries(toys.images(5), None, secure())
    assert encode(toys.images(12, seed=2)).images.isfinite().all()


def test_queries_without_a_pool_are_each_others_partners() -> None:
    images = toys.images(9, 1, 8, 8, stored=False)
    encoded = Mixup(k=3).queries(None, None, secure())(images).images
    table = images.images.flatten(1).double().numpy()
    weights = np.linalg.lstsq(table.T, encoded.flatten(1).double().numpy().T, rcond=None)[0].T
    assert ((weights > 1e-4).sum(1) == 3).all()
    assert (np.diag(weights) > 1e-4).all()


def test_noise_alone_needs_no_pool() -> None:
    image = toys.images(1, stored=False)
    encoded = Laplace(alpha=0.25, scale=1e-6).queries(None, None, secure())(image).images
    torch.testing.assert_close(encoded, 0.75 * image.images, atol=1e-3, rtol=0)


def test_moved_queries() -> None:
    encoded = Augmented().queries(toys.images(8), None, secure())(toys.images(3, seed=1)).images
    assert encoded.shape == (3, 3, 7, 5)


@pytest.mark.parametrize("scheme", [Mixup(k=3), InstaHide(k=4, k_private=2)], ids=["mixup", "instahide"])
def test_what_the_server_sees_is_what_its_truth_says(scheme: RecipeEncoder) -> None:
    """Every row is its query with partners from the pool and the public images, by the plain equations."""
    queries, pool, public = (toys.images(count, seed=count) for count in (7, 5, 9))
    used = public if scheme.mixes_public else None
    release, secret = hide_queries(scheme, queries, pool, used, seeded(1), times=4)
    rows, _ = toys.mixture(secret, used)
    np.testing.assert_allclose(release.encoded.images.numpy(), rows, atol=1e-5)
    assert release.encoded.labels.shape == (28, 0)
    assert (release.rounds, release.public) == (2, used)
    np.testing.assert_allclose(secret.private.pixels()[:5], pool.pixels())
    np.testing.assert_allclose(secret.private.pixels()[5:], queries.pixels())
    assert secret.sources[:, 0].tolist() == [5 + query for _ in range(4) for query in range(7)]
    assert (secret.sources[:, 1:] < 5).all()
    known = secret.reveal(release, ("made_for",))
    assert known.made_for is not None
    assert known.made_for.equal(secret.sources[:, 0])


def test_the_truth_about_the_pool_alone() -> None:
    _, secret = hide_queries(Mixup(k=3), toys.images(7), toys.images(5, seed=1), None, seeded(1), times=4)
    truth = about_pool(secret, 5)
    assert len(truth.private) == 5
    rows = torch.arange(truth.items)
    assert truth.holds(rows).equal(secret.sources[:, 1:])
    assert truth.shares(rows).equal(secret.weights[:, 1:])


def test_queries_give_the_pool_away() -> None:
    """Forty queries, ten encodings each: nearly every one of thirty photographs that they were mixed with is found."""
    photos = normalise(load("photos", channels=1).take(torch.arange(0, 3900, 39)), "channel")
    pool, queries = photos.take(slice(0, 30)), photos.take(slice(30, 70))
    release, secret = hide_queries(Mixup(k=2), queries, pool, None, seeded(1), times=10)
    evidence = MixupPairs().seek(release, seeded(2))
    (found,) = judge(evidence, about_pool(secret, 30), seeded(3), ("recovered",)).scores
    assert float(found.values.nan_to_num().sum()) >= 20
    assert found.beats
    noise = MixupPairs().seek(release.as_noise(seeded(4)), seeded(2))
    (chance,) = judge(noise, about_pool(secret, 30), seeded(3), ("recovered",)).scores
    assert not chance.beats


def test_joined_keeps_bytes_and_values() -> None:
    one, two = toys.images(4), toys.images(3, seed=1)
    both = joined(one, two)
    assert both.images.dtype == torch.uint8
    torch.testing.assert_close(both.pixels(), torch.cat([one.pixels(), two.pixels()]))
    mixed = joined(one, Samples(two.pixels(), two.labels))
    torch.testing.assert_close(mixed.pixels(), both.pixels())


def test_queries_of_another_size_are_refused() -> None:
    encode = InstaHide(k=4).queries(toys.images(8), None, secure())
    with pytest.raises(BadInput, match="pool images"):
        encode(toys.images(3, height=9))
    with pytest.raises(BadInput, match="public images"):
        InstaHide(k=4, k_private=2).queries(toys.images(8), toys.images(8, height=9), secure())
