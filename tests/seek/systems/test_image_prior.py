"""What images have in common, against scikit-learn."""

import numpy as np
import pytest
from scipy.fft import dctn
from sklearn.covariance import ledoit_wolf

from hideseek.data import load, normalise
from hideseek.records import Samples
from hideseek.seek.systems.image_prior import prior_of
from linear_systems import covariance_of
from toys import images


def test_the_prior_against_ledoit_and_wolf() -> None:
    """Shrunk towards independent cosine components of decorrelated channels, by scikit-learn's own count."""
    own = normalise(load("photos"), "channel").take(slice(0, 400))
    own = Samples(own.pixels()[:, :, 8:13, 8:12].contiguous(), own.labels)
    values = own.pixels().double().numpy()
    values -= values.mean(0)
    colours = np.linalg.eigh(np.einsum("nchw,ndhw->cd", values, values))[1]
    cosines = dctn(np.einsum("cd,nchw->ndhw", colours, values), axes=(2, 3), norm="ortho").reshape(400, -1)
    scale = cosines.std(0)
    shrunk, share = ledoit_wolf(cosines / scale, assume_centered=True)
    assert 0.1 < share < 0.95
    expected = shrunk * np.outer(scale, scale)
    prior = prior_of(own)
    got = covariance_of(prior)
    back = dctn(np.einsum("cd,ncij->ndij", colours, np.eye(60).reshape(60, 3, 5, 4)), axes=(2, 3), norm="ortho")
    turn = back.reshape(60, 60)  # row p: the cosine components of pixel p
    np.testing.assert_allclose(turn.T @ got @ turn, expected, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_allclose(prior.mean, own.pixels().double().mean(0).flatten().numpy(), atol=1e-12)


def test_large_images_and_features_have_priors_too(monkeypatch: pytest.MonkeyPatch) -> None:
    own = images(30, stored=False)
    monkeypatch.setattr("hideseek.seek.systems.image_prior.FULL", 10)
    monkeypatch.setattr("hideseek.seek.systems.image_prior.LEADING", 12)
    simple = prior_of(own)
    assert simple.vectors.shape == (12, 12)
    others = np.setdiff1d(np.arange(len(simple.mean)), simple.leading)
    assert simple.variances[others].max() <= simple.variances[simple.leading].sum() / 12  # those that vary most lead
    variance = (own.pixels().flatten(1).double().numpy() - simple.mean).var(0).sum()
    assert float(simple.variances.sum()) == pytest.approx(variance)
    covariance_of(simple)
    features = prior_of(images(30, 40, 1, 1, stored=False))
    assert features.colours is None
    covariance_of(features)
