"""The best linear answer to noise (Wiener), for who knows the weights and what images are like on the whole."""

import math

import numpy as np
import torch
from jaxtyping import Float
from scipy.sparse import csr_array, diags_array
from torch import Tensor

from hideseek.errors import BadInput
from hideseek.progress import track
from hideseek.records import EncodedRelease
from hideseek.seek.systems.image_prior import CHUNK, Array, prior_of
from hideseek.seek.systems.least_squares import ridge

ROUNDING = 1e-13  # the ridge of a problem without noise: float32 rounds rows to 6e-8 of their size, so √1e-13 is lost
TOGETHER = 16  # components that are solved for together


def without_likes(release: EncodedRelease) -> str:
    """Refuse an attacker who has no images like the private ones."""
    known = release.own if release.own is not None else release.public
    if known is None:
        return "this prior needs images of the attacker's own, like the private ones (--own ADDRESS)."
    if known.shape != release.encoded.shape or known.normalisation != release.encoded.normalisation:
        return "the attacker's own images must have the size and the normalisation of those in the release."
    if len(known) < 2:
        return "a mean and a covariance need two images or more: give more of the attacker's own (--own)."
    return ""


def expected_images(release: EncodedRelease, matrix: csr_array) -> Float[Tensor, "n pixels"]:
    """Give the mean of the images given the rows, where both are Gaussian.

    In the basis where the components of images are independent, of variance λ_c, and those of the noise have the
    variances D_c = s_r² g_c, the answer is (W' D_c⁻¹ W + 1/λ_c)⁻¹ W' D_c⁻¹ y_c: a ridge regression of the rows divided
    by s_r, with the penalty g_c / λ_c. Images are those of the attacker, or public ones.
    """
    known = release.own if release.own is not None else release.public
    refusal = without_likes(release)
    if known is None or refusal:
        raise BadInput(refusal)
    assert release.weights is not None  # noqa: S101 (`needs`)
    prior = prior_of(known)
    masses = release.weights.double().sum(1).numpy()  # of unknown images too: the mean has that share in a row
    loudness, noise, unknown = _noise(release)
    rows = np.empty((len(release.encoded), len(prior.mean)), np.float32)
    for first in range(0, len(rows), CHUNK):
        some = slice(first, first + CHUNK)
        pixels = release.encoded.pixels(some).flatten(1).double().numpy() - masses[some, None] * prior.mean
        rows[some] = prior.components(pixels) / loudness[some, None]
    noises = np.maximum(noise + unknown * prior.variances, ROUNDING * prior.variances.mean())
    penalties = noises / prior.variances
    solve = ridge((diags_array(1 / loudness) @ matrix).tocsr())
    found = np.empty((matrix.shape[1], len(penalties)), np.float32)
    for first in track(range(0, len(penalties), TOGETHER), "solving"):
        some = slice(first, first + TOGETHER)
        found[:, some] = solve(rows[:, some].astype(np.float64), penalties[some])
    for first in range(0, len(found), CHUNK):
        some = slice(first, first + CHUNK)
        found[some] = prior.pixels(found[some].astype(np.float64)) + prior.mean
    return torch.from_numpy(found)


def _noise(release: EncodedRelease) -> tuple[Array, float, float]:
    """Give what a row's noise is multiplied by, the variance of a pixel of it, and the share that unknown images have.

    Singularized Mixup: w_2 e with ‖e‖ = r, so r²/d a pixel. Laplace of scale b: 2b². An unknown image, of weight λ,
    adds λ² times what images vary. Without either, there is
    only rounding.
    """
    assert release.weights is not None and release.sources is not None  # noqa: S101, PT018 (`needs`)
    weights = release.weights.double().numpy()
    unknown = np.sqrt((weights[:, release.sources.shape[1] :] ** 2).sum(1))
    radius, scale = getattr(release.scheme, "radius", None), getattr(release.scheme, "scale", None)
    if radius:
        return weights[:, 1], radius**2 / math.prod(release.encoded.shape), float(unknown.any())
    if scale:
        return np.ones(len(weights)), 2 * scale**2, 0.0
    if unknown.any():
        return np.maximum(unknown, 1e-6), 0.0, 1.0
    return np.ones(len(weights)), 0.0, 0.0
