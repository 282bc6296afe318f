"""Kernel ridge regression, judged by images that it did not learn from, in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

Rows = Float[Tensor, "n features"]
WIDTHS = (0.5, 1.5, 4.0)  # of the Gaussian kernel, in median distances
RIDGES = (1e-3, 1e-2, 3e-2, 0.1, 0.3)


@dataclass(frozen=True)
class KernelRidge:
    """ŷ = ȳ + k(x) (K + ridge I)⁻¹ (Y − ȳ), with k(x)_i = exp(−‖x − x_i‖² / (width · median ‖x_i − x_j‖²))."""

    seen: Rows
    scale: float
    mean: Float[Tensor, " pixels"]
    weights: Float[Tensor, "n pixels"]

    def __call__(self, features: Rows) -> Float[Tensor, "n pixels"]:
        """Predict."""
        return self.mean + (-distances(features, self.seen).double() / self.scale).exp() @ self.weights


@dataclass(frozen=True)
class Fitted:
    """A regression, its errors for each row as if it had been left out, and its settings."""

    ridge: KernelRidge
    errors: Float[Tensor, "n pixels"]
    width: float
    penalty: float


def fit(features: Rows, targets: Float[Tensor, "n pixels"], width: float, penalty: float) -> Fitted:
    """Solve for all rows; a row left out has the error α_i / (K + ridge I)⁻¹_ii (Rasmussen and Williams, 5.12)."""
    apart = distances(features, features).double()
    scale = width * float(apart.flatten()[:: max(1, apart.numel() // 1_000_000)].median())
    mean = targets.double().mean(0)
    kernel = (-apart / max(scale, 1e-30)).exp()
    kernel.diagonal().add_(penalty)
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(kernel))
    weights = inverse @ (targets.double() - mean)
    errors = weights / inverse.diagonal()[:, None]
    return Fitted(KernelRidge(features, max(scale, 1e-30), mean, weights), errors, width, penalty)


def fit_best(features: Rows, targets: Float[Tensor, "n pixels"], some: int) -> Fitted:
    """Choose width and ridge by the errors of the first rows, each left out, then fit all."""
    few = features[:some], targets[:some]
    chosen = min(
        (fit(*few, width, penalty) for width in WIDTHS for penalty in RIDGES),
        key=lambda each: float(each.errors.square().mean()),
    )
    return fit(features, targets, chosen.width, chosen.penalty)


def distances(first: Rows, second: Rows) -> Float[Tensor, "n m"]:
    """Give squared distances of all pairs."""
    squares = first.square().sum(1)[:, None] + second.square().sum(1)[None]
    return torch.addmm(squares, first, second.T, alpha=-2).clamp_min_(0)
