"""What images are like on the whole: their mean and covariance."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dctn, idctn
from scipy.linalg import eigh

from hideseek.errors import BadInput
from hideseek.progress import track
from hideseek.records import Samples, Task
from hideseek.seek.work import DOUBLE, TOUCH, eigendecomposition

CHUNK = 512  # images that are worked on together
FULL = 4096  # numbers an image may have for all their covariances to be estimated
LEADING = 2048  # cosine components of larger images, those that vary most, whose covariances are
COLOURS = 16  # channels that are taken for colours; more are features
FLAT = 1e-12  # of the largest variance: what varies less does not vary

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Prior:
    """Images as Gaussian vectors: a mean, and independent components of known variance in an orthonormal basis.

    The basis is the cosine transform of decorrelated channels, in which natural images are nearly independent; the
    components of `leading` are turned further, by `vectors`, to the eigenvectors of their covariance.
    """

    shape: tuple[int, int, int]
    mean: Array  # c·h·w
    colours: Array | None  # c × c; none of features, whose channels are no colours
    variances: Array  # c·h·w
    leading: NDArray[np.int64]  # places among the components
    vectors: Array

    def components(self, images: Array) -> Array:
        """Give the components of images, rows of pixels."""
        cosines = _transformed(images, self.shape, self.colours)
        cosines[:, self.leading] = cosines[:, self.leading] @ self.vectors
        return cosines

    def pixels(self, components: Array) -> Array:
        """Give the images of components."""
        flat = components.copy()
        flat[:, self.leading] = components[:, self.leading] @ self.vectors.T
        mixed = idctn(flat.reshape(-1, *self.shape), axes=(2, 3), norm="ortho")
        return _recoloured(mixed, None if self.colours is None else self.colours.T).reshape(len(flat), -1)


def prior_of(images: Samples) -> Prior:
    """Estimate what images like these have in common.

    All covariances are estimated, and drawn towards those of independent cosine components as far as Ledoit and Wolf
    (2004) advise for so many images. Of more than FULL numbers, only those of the LEADING cosine components that vary
    most; the others are taken to be independent.
    """
    if len(images) < 2:
        raise BadInput("a mean and a covariance need two images or more: give more of the attacker's own.")
    blocks = [slice(start, start + CHUNK) for start in range(0, len(images), CHUNK)]

    def pixels(rows: slice) -> Array:
        return images.pixels(rows).flatten(1).double().cpu().numpy()

    channels, height, width = images.shape
    mean = sum((pixels(rows).sum(0) for rows in blocks), np.zeros(channels * height * width)) / len(images)
    colours = None
    if channels <= COLOURS:
        between = np.zeros((channels, channels))
        for rows in blocks:
            values = (pixels(rows) - mean).reshape(-1, channels, height * width)
            between += np.einsum("ncp,ndp->cd", values, values)
        colours = eigh(between)[1]
    squares = np.zeros_like(mean)
    for rows in blocks:
        squares += (_transformed(pixels(rows) - mean, images.shape, colours) ** 2).sum(0)
    variances = squares / len(images)
    variances = np.maximum(variances, max(FLAT * variances.max(), np.finfo(np.float64).tiny))
    leading = np.sort(np.argsort(variances)[-LEADING if len(mean) > FULL else 0 :])
    scale = np.sqrt(variances[leading])
    correlations, fourth = np.zeros((len(leading), len(leading))), 0.0
    for rows in track(blocks, "what images have in common"):
        values = _transformed(pixels(rows) - mean, images.shape, colours)[:, leading] / scale
        correlations += values.T @ values
        fourth += float(((values**2).sum(1) ** 2).sum())
    correlations /= len(images)
    share = shrinkage(correlations, fourth / len(images), len(images))
    covariance = (1 - share) * correlations * np.outer(scale, scale)
    covariance[np.diag_indices_from(covariance)] = variances[leading]
    values, vectors = eigh(covariance)
    variances[leading] = np.maximum(values, FLAT * values.max())
    return Prior(images.shape, mean, colours, variances, leading, vectors)


def prior_work(task: Task) -> float:
    """Count a prior, and the components of rows and images; a cosine transform takes some thirty passes."""
    images = (task.own or task.public) + task.items + task.images
    work = 45.0 * images * task.pixels * TOUCH
    turned = task.pixels if task.pixels <= FULL else LEADING
    return work + eigendecomposition(turned) + images * turned**2 * DOUBLE


def shrinkage(correlations: Array, fourth: float, count: int) -> float:
    """Give how far to draw correlations towards none: E‖zz' − C‖² / (count · ‖C − 1‖²), at most 1 (Ledoit and Wolf).

    `fourth` is the mean of ‖z‖⁴ over the images. It is scikit-learn's `ledoit_wolf_shrinkage` from sums over blocks of
    images: that would need all of them in memory, in double precision.
    """
    spread = (fourth - float((correlations**2).sum())) / count
    distance = float(((correlations - np.eye(len(correlations))) ** 2).sum())
    return min(1.0, max(0.0, spread / distance)) if distance > 0 else 1.0


def _transformed(images: Array, shape: tuple[int, int, int], colours: Array | None) -> Array:
    mixed = _recoloured(images.reshape(-1, *shape), colours)
    cosines: Array = dctn(mixed, axes=(2, 3), norm="ortho").reshape(len(images), -1)
    return cosines


def _recoloured(images: Array, colours: Array | None) -> Array:
    return images if colours is None else np.einsum("cd,nchw->ndhw", colours, images)
