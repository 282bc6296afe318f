"""Leading eigenvectors of many symmetric matrices at once, of which only products are known (Lanczos)."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

Product = Callable[[Float[Tensor, "n places"]], Float[Tensor, "n places"]]
SMALL = 1e-6  # of the first product: what is left has no new direction


def leading_vectors(product: Product, start: Float[Tensor, "n places"], steps: int) -> Float[Tensor, "n places"]:
    """Give the vector of length 1 with the largest quotient v'Mv in the space of start, M start, …, M^(steps−1) start.

    Each column has a matrix M of its own. The power method takes many times as many products where eigenvalues are
    close, as they are where rows are few.
    """
    steps = min(steps, len(start))
    vector = functional.normalize(start, dim=0)
    basis = vector.new_zeros(steps, *vector.shape)
    projected = vector.new_zeros(vector.shape[1], steps, steps)
    basis[0] = vector
    for step in range(steps):
        image = product(basis[step])
        if step == 0:
            least = SMALL * image.norm(dim=0).clamp_min(1e-30)
        known = basis[: step + 1]
        projected[:, step, step] = (basis[step] * image).sum(0)
        left = image
        for before in reversed(known):  # all of them, not the last two alone: rounding would bring the others back
            left = torch.addcmul(left, (before * left).sum(0), before, value=-1)
        if step + 1 < steps:
            length = left.norm(dim=0)
            length = torch.where(length > least, length, 0.0)
            basis[step + 1] = torch.where(length > 0, left / length.clamp_min(1e-30), 0.0)
            projected[:, step, step + 1] = projected[:, step + 1, step] = length
    # directions that do not exist have a length of 0 and must not be chosen
    exists = basis.square().sum(1).T > 0.5
    low = projected.abs().amax((1, 2)) + 1
    projected.diagonal(dim1=1, dim2=2).sub_(torch.where(exists, 0.0, (projected.shape[1] * low)[:, None]))
    top = torch.linalg.eigh(projected.double())[1][..., -1].to(basis)
    total = torch.zeros_like(vector)
    for each, share in zip(basis, top.T, strict=True):
        total.addcmul_(each, share)
    return total
