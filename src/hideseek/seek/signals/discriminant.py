"""Linear discriminants of encodings: the nearest mean, in a metric that the scatter about the means gives."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray
from scipy.fft import dctn
from scipy.linalg import eigh

from hideseek.chance import Randomness
from hideseek.progress import track
from hideseek.records import Task
from hideseek.seek.work import DOUBLE, TOUCH, eigendecomposition

SIDES = (8, 16, 24)  # how many of the slowest cosines are kept, down and across
SHARES = (0.03, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)  # how far covariances are drawn towards none
KEPT_BACK = 4  # one row in so many is kept back to choose by
CHUNK = 512

Array = NDArray[np.float64]
Encodings = Float[np.ndarray, "n c h w"]


@dataclass(frozen=True)
class CosineFeatures:
    """The slowest cosine components of a power of the pixels (of absolute values, where they are masked).

    E[x̃²] = λ² x² + what does not depend on the image, for partners of mean zero: squares carry x under any mask.
    """

    power: int
    side: int
    masked: bool

    def of(self, encoded: Encodings) -> Array:
        """Give the features of every encoding."""
        parts = []
        for first in range(0, len(encoded), CHUNK):
            pixels = encoded[first : first + CHUNK].astype(np.float64)
            pixels = (np.abs(pixels) if self.masked else pixels) ** self.power
            cosines = dctn(pixels, axes=(2, 3), norm="ortho")[:, :, : self.side, : self.side]
            parts.append(cosines.reshape(len(pixels), -1))
        return np.concatenate(parts)


@dataclass(frozen=True)
class Scatter:
    """The means of classes, and the eigenvectors of the scatter about them after every feature was scaled to one.

    These are scikit-learn's LinearDiscriminantAnalysis with shrinkage, for classes of equal weight; it would take a
    decomposition for every share, and covariances of all features however few the rows are.
    """

    means: Array  # classes × features, scaled
    scale: Array
    values: Array
    vectors: Array  # features × as many as there are rows or features

    def scores(self, features: Array, share: float) -> Float[np.ndarray, "n classes"]:
        """Give z'Σ⁻¹m − m'Σ⁻¹m/2 for every class, Σ = (1 − share) C + share: log-likelihoods but for a constant.

        Σ⁻¹ = 1/share + V (1/((1 − share) v + share) − 1/share) V', where C = V v V'.
        """
        inner = (self.vectors / ((1 - share) * self.values + share)) - self.vectors / share
        directions = self.means / share + (self.means @ inner) @ self.vectors.T
        scores: Array = (features / self.scale) @ directions.T - (self.means * directions).sum(1) / 2
        return scores


def scatter(features: Array, ids: Int[np.ndarray, " n"]) -> Scatter:
    """Measure means and scatter; where there are fewer rows than features, through the rows' inner products."""
    means = np.stack([features[ids == number].mean(0) for number in range(int(ids.max()) + 1)])
    apart = features - means[ids]
    scale = apart.std(0)
    scale = np.where(scale > 0, scale, 1.0)
    apart /= scale
    if apart.shape[1] <= len(apart):
        values, vectors = eigh(apart.T @ apart / len(apart))
    else:
        values, left = eigh(apart @ apart.T / len(apart))
        kept = values > 1e-10 * max(float(values[-1]), 1e-300)
        values = values[kept]
        vectors = apart.T @ (left[:, kept] / np.sqrt(values * len(apart)))
    return Scatter(means / scale, scale, np.maximum(values, 0), vectors)


@dataclass(frozen=True)
class Discriminant:
    """A classifier of encodings, and how it was chosen."""

    features: CosineFeatures
    scatter: Scatter
    share: float
    validated: float

    def scores(self, encoded: Encodings) -> Float[np.ndarray, "n classes"]:
        """Give a score for every encoding and class."""
        return self.scatter.scores(self.features.of(encoded), self.share)

    @property
    def described(self) -> dict[str, Any]:
        """Say what was chosen, and the accuracy on rows that were kept back for choosing."""
        about = {"power": self.features.power, "side": self.features.side, "share": self.share}
        return about | {"validation accuracy": round(self.validated, 4)}


def discriminant_work(rows: int, task: Task) -> float:
    """Count choosing and learning, half of the rows being known; a cosine transform takes some thirty passes."""
    side, known = (task.pixels / task.channels) ** 0.5, rows / 2
    each = 0.0
    for kept in SIDES:
        features = task.channels * min(kept, side) ** 2
        least = min(features, known)
        each += (
            known * task.pixels * 30 * TOUCH + eigendecomposition(int(least)) + 2 * least * features * known * DOUBLE
        )
    return 2.5 * each  # two powers, and learning from all with the one that is chosen


def chosen_discriminant(
    encoded: Encodings, ids: Int[np.ndarray, " n"], *, masked: bool, chance: Randomness
) -> Discriminant:
    """Choose a power, a side and a share by the rows that are kept back, then learn from all.

    Seen on ten CIFAR-10 images in cross InstaHide, 200 rows of each to learn from: about 70 % right. A small ResNet on
    absolute values had 66 % after three times as long.
    """
    kept_back = np.zeros(len(ids), bool)
    for number in range(int(ids.max()) + 1):
        own = np.flatnonzero(ids == number)
        kept_back[own[chance.permutation(len(own)).numpy()[: max(1, len(own) // KEPT_BACK)]]] = True
    longest = max(encoded.shape[2:])
    sides = sorted({min(side, longest) for side in SIDES})
    best: tuple[float, CosineFeatures, float] | None = None
    tries = [CosineFeatures(power, side, masked) for power in (1, 2) for side in sides]
    for features in track(tries, "choosing a classifier"):
        values = features.of(encoded)
        tried = scatter(values[~kept_back], ids[~kept_back])
        for share in SHARES:
            right = tried.scores(values[kept_back], share).argmax(1) == ids[kept_back]
            if best is None or right.mean() > best[0]:
                best = (float(right.mean()), features, share)
    assert best is not None  # noqa: S101 (something was tried)
    validated, features, share = best
    return Discriminant(features, scatter(features.of(encoded), ids), share, validated)
