"""What the errors of solutions tell: weights and offset fitted again, until right solutions scatter least."""

import numpy as np
from numpy.typing import NDArray

from hideseek.seek.systems.byte_solutions import Array, Solutions

NARROW = 10.0  # times less than the tolerance do right solutions scatter, about
OFFSETS = np.linspace(-0.3, 0.3, 19)  # of the tolerance, that are tried
STEPS = 25  # of a fit
OUTSIDE = 1e-3  # the share of pixels for which no solution may be right
STIFF = 4.0  # times less than by the tolerance may weights change


def fitted_errors(found: Solutions, beliefs: Array, channels: int, tolerance: Array) -> tuple[Array, Array]:
    """Fit e = θ₀ + Σ_j θ_j b_j to the errors of solutions, by channel; give what is left, and its deviation.

    One solution of each pixel is right, and right ones scatter little about the fit, while the errors of wrong ones are
    even over the tolerance: so EM tells them apart. `beliefs` are logarithms, of what is believed beforehand.
    """
    left, deviations = found.errors.copy(), tolerance / 2
    for c, part in enumerate(np.split(np.arange(len(found.errors)), channels)):
        rows, columns = np.nonzero(np.isfinite(beliefs[part]))
        if not len(rows):
            continue
        e = found.errors[part[rows], columns]
        prior = np.exp(beliefs[part[rows], columns])
        b = np.column_stack([found.values[part[rows], columns].astype(np.float64), np.ones(len(rows))])
        freedom = np.full(b.shape[1], tolerance[c] / STIFF / 255)
        freedom[-1] = tolerance[c] / STIFF
        theta, deviation = np.zeros(b.shape[1]), tolerance[c] / NARROW
        theta[-1] = _offset(e, prior, rows, deviation, tolerance[c])
        ridge, about = np.diag(freedom**-2.0), theta / freedom**2
        for _ in range(STEPS):
            right = prior * np.exp(-((e - b @ theta) ** 2) / (2 * deviation**2))
            right /= np.bincount(rows, right, len(part))[rows] + OUTSIDE
            weighed = (b * right[:, None]).T / deviation**2
            theta = np.linalg.solve(weighed @ b + ridge, weighed @ e + about)
            scatter = (right * (e - b @ theta) ** 2).sum() / max(right.sum(), 1e-9)
            deviation = max(float(np.sqrt(scatter)), 1e-3 * tolerance[c])
        left[part] -= found.values[part] @ theta[:-1] + theta[-1]
        deviations[c] = deviation
    return left, deviations


def _offset(errors: Array, prior: Array, rows: NDArray[np.int64], deviation: float, tolerance: float) -> float:
    """Give the offset about which most pixels have a solution: the offset is rounded too, by more than the rest."""
    count = int(rows.max()) + 1

    def score(offset: float) -> float:
        near = prior * np.exp(-((errors - offset) ** 2) / (2 * deviation**2))
        return float(np.log(np.bincount(rows, near, count) + OUTSIDE).sum())

    return float(max(tolerance * OFFSETS, key=score))
