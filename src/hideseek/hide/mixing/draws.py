"""Which images are mixed into a row, and with what weights: the draws that all mixing schemes share.

The arrays are small and the steps many, so NumPy does them: torch would wake its threads for each.
"""

from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records import ImagesPerRow, Samples

Law = Literal["uniform", "half-normal", "dirichlet"]
MOST = 1 << 16  # images in a row
RARE = 1e-4  # a bound that a smaller share of draws keeps is as good as impossible


def partners(count: int, k: int, chance: Randomness) -> Int[Tensor, "count k"]:
    """Draw the private sources of every row: π_1 the identity, π_2 … π_k random permutations of the whole set.

    Algorithm 2 of InstaHide, line 5. Each image is used k times.

    Deviation: independent permutations clash (4 % of rows at n = 128, k = 4 would hold an image twice); here the rows
    where a permutation repeats an earlier one trade their images with other rows, so that sources in a row differ.
    """
    if k > count:
        raise BadInput(f"k = {k} images cannot differ when there are {count}: lower k or add images.")
    sources = np.empty((k, count), np.int64)
    sources[0] = np.arange(count)
    for j in range(1, k):
        sources[j] = _differing(sources[:j], chance)
    return torch.from_numpy(sources.T.copy())


def _differing(earlier: NDArray[np.int64], chance: Randomness) -> NDArray[np.int64]:
    """Draw a permutation that differs everywhere from the earlier ones; from the identity alone, exactly uniformly."""
    width, count = earlier.shape
    drawn = (chance.derangement(count) if width == 1 else chance.permutation(count)).numpy()
    clashes = np.flatnonzero((earlier == drawn).any(0))
    while len(clashes):
        rows = np.union1d(clashes, chance.integers(count, 8 * width + 8).numpy())
        if len(rows) == count:
            return _assigned(earlier, chance)
        drawn[rows] = drawn[rows[chance.permutation(len(rows)).numpy()]]  # they trade, until none clashes
        clashes = rows[(earlier[:, rows] == drawn[rows]).any(0)]
    return drawn


def _assigned(earlier: NDArray[np.int64], chance: Randomness) -> NDArray[np.int64]:
    """Assign the images of a small set so that no row clashes: the cheapest assignment at random costs.

    In a small set chance alone may take forever; an assignment without a clash always exists (Hall's theorem).
    """
    from scipy.optimize import linear_sum_assignment

    count = earlier.shape[1]
    costs = chance.uniforms(count, count).numpy()
    np.put_along_axis(costs, earlier.T, count + 1.0, axis=1)  # more than all others together
    return linear_sum_assignment(costs)[1].astype(np.int64)


def public_partners(rows: int, available: int, k: int, chance: Randomness) -> Int[Tensor, "rows k"]:
    """Draw k public images for every row, each row its own, all different within a row."""
    if k > available:
        raise BadInput(f"{k} public images cannot differ when there are {available}: name a larger public set.")
    if k == 0:
        return torch.empty(rows, 0, dtype=torch.int64)
    drawn = chance.integers(available, rows, k).numpy()
    while len(again := np.flatnonzero((np.diff(np.sort(drawn)) == 0).any(1))):
        if 4 * k > available:  # nearly all of a small set: draw orders, since repeats would hardly end
            drawn[again] = chance.uniforms(len(again), available).numpy().argsort()[:, :k]
        else:
            drawn[again] = chance.integers(available, len(again), k).numpy()
    return torch.from_numpy(drawn)


def per_row(k: int, k_private: int | None) -> ImagesPerRow:
    """Give how many of k images are private and how many public; all are private where `k_private` is None."""
    private = k if k_private is None else k_private
    return ImagesPerRow(private, k - private)


def check_settings(k: int, k_private: int | None, largest: float, private_share: float) -> None:
    """Refuse settings that no set of images could fulfil."""
    if not 1 <= k <= MOST or not 1 <= (k if k_private is None else k_private) <= k:
        raise BadInput(
            f"a row mixes 1 ≤ k ≤ {MOST} images, of which at least one is private, not k = {k} with"
            f" {k_private} private ones."
        )
    if not 1 / k <= largest <= 1:
        raise BadInput(
            f"weights that sum to 1 cannot all be at most c1 = {largest} when k = {k}: set c1 (largest) between"
            f" {1 / k:.3g} and 1, or raise k."
        )
    if not 0 <= private_share <= 1:
        raise BadInput(
            f"private weights cannot sum to c2 = {private_share}, since all sum to 1: set c2 (private_share) between"
            " 0 and 1."
        )


def coefficients(
    rows: int,
    k: int,
    chance: Randomness,
    law: Law = "uniform",
    largest: float = 1.0,
    private: int = 0,
    private_share: float = 0.0,
) -> Float[Tensor, "rows k"]:
    """Draw λ for every row: ‖λ‖₁ = 1, ‖λ‖_∞ ≤ c1, and λ_1 + … + λ_private ≥ c2.

    Algorithm 2 of InstaHide, line 6, and §3.2: U[0,1]^k, normalised, and drawn again where a bound is broken. The other
    laws are what implementations draw: |N(0,1)|^k, normalised (the authors'), and Dirichlet(3, 1, …, 1) (GradAttack).

    Deviation: the paper does not say how the bounds are kept; rejection gives the law of λ given that they are.
    """
    drawn, kept, tried = [], 0, 0
    while kept < rows:
        batch = _unbounded((rows - kept) * 5 // 4 + 64, k, chance, law)
        fits = (batch.max(0) <= largest) & (batch[:private].sum(0) >= private_share)
        drawn.append(batch[:, fits])
        kept, tried = kept + drawn[-1].shape[1], tried + batch.shape[1]
        if kept < RARE * tried and tried > 100 / RARE:
            raise BadInput(
                f"hardly any weights keep to c1 = {largest} and c2 = {private_share} at k = {k}: loosen one of them."
            )
    return torch.from_numpy(np.hstack(drawn)[:, :rows].T.astype(np.float32, order="C"))


def _unbounded(rows: int, k: int, chance: Randomness, law: Law) -> NDArray[np.float64]:
    """Draw normalised weights, k × rows: NumPy sums short columns much faster than short rows."""
    if law == "uniform":
        weights = 1 - chance.uniforms(k, rows).numpy()  # of (0, 1], so that no sum is 0
    elif law == "half-normal":
        weights = np.abs(chance.normals(k, rows).numpy().astype(np.float64))
    elif law == "dirichlet":
        weights = np.vstack([chance.gammas(3.0, 1, rows).numpy(), chance.gammas(1.0, k - 1, rows).numpy()])
    else:
        raise BadInput(f"{law!r} is no law of coefficients: choose uniform, half-normal or dirichlet.")
    weights /= weights.sum(0)
    return weights


def private_and_public(
    private: Samples, public: Samples | None, k: int, k_private: int | None, chance: Randomness
) -> tuple[Int[Tensor, "n k_private"], Int[Tensor, "n k_public"]]:
    """Draw every row's private sources and its public ones; all k are private where `k_private` is None."""
    wanted = per_row(k, k_private)
    if wanted.public and public is None:
        raise BadInput(f"this scheme mixes {wanted.public} public images into every row: give it a public set.")
    available = len(public) if public is not None else 0
    return partners(len(private), wanted.private, chance), public_partners(
        len(private), available, wanted.public, chance
    )
