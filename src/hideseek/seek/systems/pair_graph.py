"""Which two images are in each row, from how much every two rows overlap: a symmetric factorisation.

Rows with unit weights u (Σ_a u_ia² = 1) that share one image a have ρ_ij = u_ia u_ja. So ρ² = B Bᵀ off the diagonal,
with B = u² sparse: two entries a row, which sum to 1. Rows of one image form a star, a clique of the graph of large ρ²
(for any number of images a row, Chen et al. 2021 look for floral submatrices); inside it ρ² has rank one.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

LINKED = 0.08  # ρ², from which two rows count as linked: four deviations at 3,072 pixels
LEAST = 4  # rows of a star
DENSE = 0.6  # of its members is a member linked with
SAME = 0.5  # of the smaller star's rows in another: one image
FITS = 30  # steps of fitting one column
CANDIDATES = 20  # images that are tried in pairs, for a row
ATTEMPTS = 5  # to find images that are missing in what the others leave
REFITS = 6  # of all rows, each with the others as they are


def factorise(overlaps: Array, images: int) -> Array:
    """Give B, rows × images found, two entries a row that sum to 1."""
    factor = np.zeros((len(overlaps), 0))
    for _ in range(ATTEMPTS):
        left = overlaps - factor @ factor.T
        found = stars(left, images - factor.shape[1])
        if not found:
            break
        factor = np.concatenate([factor, np.stack([column(left, star) for star in found], 1)], 1)
        if factor.shape[1] < 2:
            break
        for _ in range(REFITS):
            factor = refitted(overlaps, factor)
        factor = factor[:, (factor > 0).sum(0) >= LEAST]  # others were parts of one image's star
        if factor.shape[1] >= images:
            break
    return factor if factor.shape[1] < 2 else refitted(overlaps, factor)


def stars(overlaps: Array, most: int) -> list[Rows]:
    """Find sets of rows that are linked with each other, one for each image, from the pairs with most common links."""
    linked = overlaps > LINKED
    common = linked.astype(np.float32) @ linked.astype(np.float32)
    free, found = linked.copy(), list[Rows]()
    while len(found) < most:
        score = np.where(free, common, 0)
        first, second = np.unravel_index(int(score.argmax()), score.shape)
        if score[first, second] < LEAST - 2:
            break
        star = np.concatenate([[first, second], np.flatnonzero(linked[first] & linked[second])])
        for _ in range(3):
            dense = linked[np.ix_(star, star)].mean(1) > DENSE
            dense[:2] = True
            star = star[dense]
        free[np.ix_(star, star)] = False
        known = any(len(np.intersect1d(star, other)) > SAME * min(len(star), len(other)) for other in found)
        if len(star) >= LEAST and not known:
            found.append(star)
    return found


def column(overlaps: Array, star: Rows) -> Array:
    """Fit v vᵀ to the overlaps of a star's rows, whose diagonal is not known: v, and 0 for all other rows."""
    inside = overlaps[np.ix_(star, star)].copy()
    v = np.full(len(star), 0.5)
    for _ in range(FITS):
        np.fill_diagonal(inside, v * v)
        v = np.clip(inside @ v / max(float(v @ v), 1e-9), 0.0, 1.0)
    whole = np.zeros(len(overlaps))
    whole[star] = v
    return whole


def refitted(overlaps: Array, factor: Array) -> Array:
    """Give each row the two images a, c and the share t that fit best: min ‖ρ²_i − t B_a − (1 − t) B_c‖²."""
    products, alike = factor.T @ factor, overlaps @ factor
    fitted = np.zeros_like(factor)
    for row, (own, h) in enumerate(zip(factor, alike, strict=True)):
        g = products - np.outer(own, own)  # a row's overlap with itself is not known
        energy = np.diag(g)
        top = np.argsort(-h / np.sqrt(np.maximum(energy, 1e-9)))[:CANDIDATES]
        a, c = (top[each] for each in np.triu_indices(len(top), 1))
        apart = np.maximum(energy[a] + energy[c] - 2 * g[a, c], 1e-9)
        t = np.clip((h[a] - h[c] + energy[c] - g[a, c]) / apart, 0.0, 1.0)
        left = (
            -2 * (t * h[a] + (1 - t) * h[c]) + t**2 * energy[a] + (1 - t) ** 2 * energy[c] + 2 * t * (1 - t) * g[a, c]
        )
        best = int(left.argmin())
        fitted[row, a[best]], fitted[row, c[best]] = t[best], 1 - t[best]
    return fitted
