"""With what weights images are mixed, and the checks and draws that all mixing schemes share.

The arrays are small and the steps many, so NumPy does them: torch would wake its threads for each.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.data.store import allocate
from hideseek.errors import BadInput
from hideseek.hide.mixing.partners import partners, public_partners
from hideseek.records import ImagesPerRow, Samples

Law = Literal["uniform", "half-normal", "dirichlet"]
MOST = 1 << 16  # images in a row
PIECE = 1 << 16  # weights at a time: as many as normals are drawn in, or a multiple (chance/normals.py)
RARE = 1e-4  # a bound that a smaller share of draws keeps is as good as impossible


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
    weights, kept, tried = allocate((rows, k), np.float32), 0, 0
    while kept < rows:
        drawn = _unnormalised((rows - kept) * 5 // 4 + 64, k, chance, law)
        for part in np.array_split(drawn, max(1, drawn.size // PIECE), 1):
            batch = part / part.sum(0)
            fits = batch[:, (batch.max(0) <= largest) & (batch[:private].sum(0) >= private_share)][:, : rows - kept]
            weights[kept : kept + fits.shape[1]] = fits.T
            kept += fits.shape[1]
        tried += drawn.shape[1]
        if kept < RARE * tried and tried > 100 / RARE:
            raise BadInput(
                f"hardly any weights keep to c1 = {largest} and c2 = {private_share} at k = {k}: loosen one of them."
            )
    return torch.from_numpy(weights)


def _unnormalised(rows: int, k: int, chance: Randomness, law: Law) -> NDArray[np.float64]:
    """Draw weights that do not sum to 1 yet, k × rows: NumPy sums short columns much faster than short rows."""
    weights = allocate((k, rows), np.float64)
    if law == "uniform":
        _fill(weights, lambda count: 1 - chance.uniforms(count).numpy())  # of (0, 1], so that no sum is 0
    elif law == "half-normal":
        _fill(weights, lambda count: np.abs(chance.normals(count).numpy()))
    elif law == "dirichlet":
        _fill(weights[:1], lambda count: chance.gammas(3.0, count).numpy())
        _fill(weights[1:], lambda count: chance.gammas(1.0, count).numpy())
    else:
        raise BadInput(f"{law!r} is no law of coefficients: choose uniform, half-normal or dirichlet.")
    return weights


def _fill(weights: NDArray[np.float64], draw: Callable[[int], NDArray[Any]]) -> None:
    """Draw weights piece by piece; they are what one draw of all would give."""
    flat = weights.reshape(-1)
    for start in range(0, len(flat), PIECE):
        part = flat[start : start + PIECE]
        part[:] = draw(len(part))


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
