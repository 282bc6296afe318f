"""What linear attacks solve, entry by entry: releases with known weights, their matrix, the covariance of a prior."""

from dataclasses import replace

import numpy as np

from hideseek.chance import seeded
from hideseek.records import EncodedRelease, MixingEncoder, Samples
from hideseek.seek.systems.image_prior import Prior


def released(
    scheme: MixingEncoder, private: Samples, public: Samples | None = None, rounds: int = 1, seed: int = 1
) -> EncodedRelease:
    """A release whose weights and places are known."""
    release, secret = scheme.hide(private, public, seeded(seed), rounds)
    return replace(release, weights=secret.weights, sources=secret.sources)


def dense(release: EncodedRelease) -> np.ndarray:
    """W, entry by entry."""
    assert release.weights is not None
    assert release.sources is not None
    matrix = np.zeros((len(release.encoded), len(release.encoded) // release.rounds))
    for (row, place), source in np.ndenumerate(release.sources.numpy()):
        matrix[row, source] += float(release.weights[row, place])
    return matrix


def covariance_of(prior: Prior) -> np.ndarray:
    """Σ, whose components are checked to be an orthonormal basis."""
    basis = prior.pixels(np.eye(len(prior.mean)))
    np.testing.assert_allclose(basis @ basis.T, np.eye(len(basis)), atol=1e-12)
    np.testing.assert_allclose(prior.components(basis), np.eye(len(basis)), atol=1e-12)
    covariance: np.ndarray = basis.T @ np.diag(prior.variances) @ basis
    return covariance
