"""What the absolute values of two rows tell of the images that they share, where pixels are independent Gaussians."""

import math

import numpy as np
from numpy.typing import NDArray

from hideseek.records import Reason, Refusal, Refused

POINTS = 4001  # of the table that is read backwards
_TINY = 1e-30

Array = NDArray[np.float64]


def folded_correlation(correlation: Array) -> Array:
    """Give the correlation of |x| and |y| where x and y are Gaussian with correlation ρ (Chen et al. 2021).

    (2/π)(√(1 − ρ²) + ρ·asin ρ − 1) / (1 − 2/π)

    >>> folded_correlation(np.array([0.0, 1.0])).round(6).tolist()
    [0.0, 1.0]
    """
    rho = np.abs(correlation)
    folded: Array = (2 / math.pi) * (np.sqrt(1 - rho**2) + rho * np.arcsin(rho) - 1) / (1 - 2 / math.pi)
    return folded


def unit_rows(rows: Array) -> Array:
    """Divide rows by their root mean square; rows of zeros, or that are no numbers, are refused."""
    largest = np.abs(rows).max(1, keepdims=True)
    if not (np.isfinite(largest).all() and (largest > _TINY).all()):
        raise Refused(Refusal(Reason.UNUSABLE_VALUES))
    scaled = rows / largest
    unit: Array = scaled / np.sqrt(np.square(scaled).mean(1, keepdims=True))
    return unit


def squared_overlaps(rows: Array) -> Array:
    """Give ρ² for every two rows, from the correlation of their absolute values; 0 for a row with itself.

    Chance makes correlations err by 1/√pixels either way; so do their squares, below 0 too, which keeps them unbiased.
    """
    folded = np.abs(rows)
    folded -= folded.mean(1, keepdims=True)
    folded /= np.linalg.norm(folded, axis=1, keepdims=True).clip(_TINY)
    found = folded @ folded.T
    points = np.linspace(0.0, 1.0, POINTS)
    squares: Array = np.sign(found) * np.interp(np.abs(found), folded_correlation(points), points) ** 2
    np.fill_diagonal(squares, 0.0)
    return squares


def neighbour_correlation(rows: Array, shape: tuple[int, int, int]) -> float:
    """Give the largest correlation of squares of neighbouring pixels, along width, height or colour, over all rows."""
    squares = np.square(rows).reshape(len(rows), *shape)
    squares = squares - squares.mean((1, 2, 3), keepdims=True)
    scale = float(np.square(squares).mean())
    if scale <= _TINY:
        return 1.0  # all pixels of a row are the same
    found = [0.0]
    for axis in (1, 2, 3):
        if squares.shape[axis] > 1:
            first = np.take(squares, range(squares.shape[axis] - 1), axis)
            second = np.take(squares, range(1, squares.shape[axis]), axis)
            found.append(float((first * second).mean()) / scale)
    return max(found)
