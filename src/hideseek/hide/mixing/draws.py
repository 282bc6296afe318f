"""With what weights images are mixed, and the checks and draws that all mixing schemes share.

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
from hideseek.hide.mixing.partners import partners, public_partners
from hideseek.records import ImagesPerRow, Samples

Law = Literal["uniform", "half-normal", "dirichlet"]
MOST = 1 << 16  # images in a row
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
