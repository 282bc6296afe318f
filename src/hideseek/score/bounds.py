"""What the papers prove about attacks, as functions of the setting."""

import math

import torch
from jaxtyping import Float
from torch import Tensor


def largest_without(k: int, n: int, d: int, delta: float, c1: float = 1.0) -> float:
    """Bound ⟨x̃, s⟩ for an image s that is not among the k of x̃: c₁ k σ² √d log²(nd/δ) (InstaHide, Theorem B.3, 1).

    Images are Gaussian with σ² = 1/d, so that ‖x‖ is about 1; x̃ is their sum. The theorem leaves c₁ open.
    """
    return c1 * k / math.sqrt(d) * math.log(n * d / delta) ** 2


def least_with(k: int, n: int, d: int, delta: float, c1: float = 1.0, c2: float = 2.0) -> float:
    """Bound ⟨x̃, s⟩ from below for an image s of x̃, in the setting of `largest_without` (Theorem B.3, 2).

    Deviation: the theorem has ‖s‖² ≥ (d + c₂ √log(n/δ)) σ², which is above the mean of ‖s‖² and false half the time;
    its own Lemma B.5 gives (d − c₂ √(d log(n/δ))) σ² with c₂ = 2, which is used here.
    """
    norm = 1 - c2 * math.sqrt(math.log(n / delta) / d)
    return norm - c1 * (k - 1) / math.sqrt(d) * math.log(n * d / delta) ** 2


def largest_disjoint(n: int, d: int, delta: float, c1: float = 1.0) -> float:
    """Bound ⟨x₁ + x₃, x₂ + x₂′⟩ of two pairs without a common image: 4 c₁ σ² √d log²(nd/δ) (Theorem B.1, part 1)."""
    return 4 * largest_without(1, n, d, delta, c1)


def least_sharing(n: int, d: int, delta: float, c1: float = 1.0, c2: float = 2.0) -> float:
    """Bound ⟨x₃ + x₁, x₃ + x₂⟩ of two pairs with a common image from below (Theorem B.1, part 2, repaired likewise)."""
    return least_with(1, n, d, delta, c1, c2) - 3 * largest_without(1, n, d, delta, c1)


def naive_search(public: int, k: int, d: int) -> float:
    """Give log₁₀ of the steps of the naive attack on cross-dataset InstaHide, min{N^(k−2), 2^d} (§4.2).

    An attack that needs far fewer steps shows how little such a count promises.

    >>> naive_search(public=10**7, k=4, d=3072)
    14.0
    """
    return min((k - 2) * math.log10(public), d * math.log10(2))


def recovery_error(weights: Float[Tensor, "n n"], second: Float[Tensor, " n"], radius: float) -> Float[Tensor, " n"]:
    """Give r² T_i, with T_i = Σ_ℓ (W⁻¹)²_iℓ w²_ℓ2: what an attacker without a prior errs at least, in the worst case.

    Singularized Mixup, Theorem 4.1. For images of bounded range it is often above the error of answering with the
    mean image, and then says nothing.
    """
    inverse: Tensor = torch.linalg.inv(weights.double())
    return radius**2 * (inverse.square() @ second.double().square())
