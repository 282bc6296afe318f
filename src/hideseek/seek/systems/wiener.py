"""Images from rows whose weights are known: by least squares, and the best linear answer to noise (Wiener)."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from scipy.sparse import csr_array, diags_array
from torch import Tensor

from hideseek.progress import track
from hideseek.records import EncodedRelease, Reason, Refusal, Refused
from hideseek.records.samples import describe_shape
from hideseek.seek.systems.image_prior import CHUNK, Array, prior_of
from hideseek.seek.systems.least_squares import ridge
from hideseek.seek.systems.linear_system import blocks, columns

ROUNDING = 1e-13  # the ridge of a problem without noise: float32 rounds rows to 6e-8 of their size, so √1e-13 is lost
TOGETHER = 256  # components that are solved for together, at most …
BLOCK = 1 << 25  # … and numbers of rows: 256 MB in double precision


def without_like_images(release: EncodedRelease) -> Refusal | None:
    """Refuse an attacker who has no images like the private ones."""
    known = release.own if release.own is not None else release.public
    if known is None:
        return Refusal(Reason.NO_OWN_IMAGES)
    if known.shape != release.encoded.shape or known.normalisation != release.encoded.normalisation:
        given, wanted = (
            f"{describe_shape(samples.shape)}, normalisation {samples.normalisation.kind}"
            for samples in (known, release.encoded)
        )
        return Refusal(Reason.UNSUITED_OWN_IMAGES, {"given": given, "wanted": wanted})
    return Refusal(Reason.TOO_FEW_OWN_IMAGES, {"given": len(known), "wanted": 2}) if len(known) < 2 else None


def expected_images(
    release: EncodedRelease, matrix: csr_array, unsure: Array | None = None
) -> Float[Tensor, "n pixels"]:
    """Give the mean of the images given the rows, where both are Gaussian.

    In the basis where the components of images are independent, of variance λ_c, and those of the noise have the
    variances D_c = s_r² g_c, the answer is (W' D_c⁻¹ W + 1/λ_c)⁻¹ W' D_c⁻¹ y_c: a ridge regression of the rows divided
    by s_r, with the penalty g_c / λ_c. Images are those of the attacker, or public ones. `unsure` is the variance of
    the weights of each row, summed, where they are only expected: it adds what an unknown image of that weight² would.
    """
    if (refusal := without_like_images(release)) is not None:
        raise Refused(refusal)
    known = release.own if release.own is not None else release.public
    assert known is not None and release.weights is not None  # noqa: S101, PT018 (not refused; `needs`)
    prior = prior_of(known)
    masses = release.weights.double().sum(1).numpy()  # of unknown images too: the mean has that share in a row
    noise = _noise(release, np.zeros(len(masses)) if unsure is None else unsure, float(prior.variances.mean()))
    rows = np.empty((len(release.encoded), len(prior.mean)), np.float32)
    for first in range(0, len(rows), CHUNK):
        some = slice(first, first + CHUNK)
        pixels = release.encoded.pixels(some).flatten(1).double().numpy() - masses[some, None] * prior.mean
        rows[some] = prior.components(pixels) / noise.factors[some, None]
    noises = np.maximum(noise.variance + noise.like_images * prior.variances, ROUNDING * prior.variances.mean())
    penalties = noises / prior.variances
    solve = ridge((diags_array(1 / noise.factors) @ matrix).tocsr())
    found = np.empty((matrix.shape[1], len(penalties)), np.float32)
    together = max(16, min(TOGETHER, BLOCK // len(rows)))
    for first in track(range(0, len(penalties), together), "solving"):
        some = slice(first, first + together)
        found[:, some] = solve(rows[:, some].astype(np.float64), penalties[some])
    for first in range(0, len(found), CHUNK):
        some = slice(first, first + CHUNK)
        found[some] = prior.pixels(found[some].astype(np.float64)) + prior.mean
    return torch.from_numpy(found)


def solved_images(release: EncodedRelease, matrix: csr_array) -> Float[Tensor, "n pixels"]:
    """Solve by least squares, block by block of pixels."""
    solve = ridge(matrix)
    found = torch.empty(matrix.shape[1], math.prod(release.encoded.shape))
    for some in track(blocks(release.encoded), "solving"):
        right = columns(release.encoded, some).double().numpy()
        found[:, some] = torch.from_numpy(solve(right, np.full(right.shape[1], ROUNDING))).float()
    return found


@dataclass(frozen=True)
class _Noise:
    """What hides the known images in row r: s_r times something whose components have the variances g_c."""

    factors: Array
    """s_r, one for every row."""
    variance: float
    """The part of g_c that all components have."""
    like_images: float = 0.0
    """How often the variances of images are in g_c: 1 where unknown images are in rows."""


def _noise(release: EncodedRelease, unsure: Array, power: float) -> _Noise:
    """Tell what hides the known images: the scheme's noise, or unknown images, of weight λ; else rounding alone.

    An unknown image adds λ² times what images vary, in every component what images have in it. Beside the scheme's own
    noise, what is unsure of weights counts by its `power` alone, as if it were even over components.
    """
    assert release.weights is not None and release.sources is not None  # noqa: S101, PT018 (`needs`)
    weights = release.weights.double().numpy()
    unknown = np.sqrt((weights[:, release.sources.shape[1] :] ** 2).sum(1) + unsure)
    noise = release.scheme.noise(math.prod(release.encoded.shape))
    if noise is not None and noise.weight is not None:
        factors = np.sqrt(weights[:, noise.weight] ** 2 + unsure * power / noise.variance)
        return _Noise(factors, noise.variance, float(release.sources.shape[1] < weights.shape[1]))
    if noise is not None:
        return _Noise(np.sqrt(1 + unsure * power / noise.variance), noise.variance)
    if unknown.any():
        return _Noise(np.maximum(unknown, 1e-6), 0.0, 1.0)
    return _Noise(np.ones(len(weights)), 0.0)
