"""The last features of every image of a batch, from the gradient of the dense layer behind them.

With logits z = W f + b and cross-entropy, ∂L/∂W = mean_i e_i f_i' and ∂L/∂b = mean_i e_i, where e_i = p_i − y_i and p_i
is the softmax of z_i. For n images, at most as many as classes, ∂L/∂W has the rank n, and its rows span the features:
F = A B, with B the n right singular vectors. A is n×n, and says all of p_i, so that n·(classes + 1) equations have n²
unknowns; a residual of nothing certifies them without the truth. Images of the same label have no order.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import jacrev

from hideseek.chance import seeded

STARTS = 8  # the first of the mean softmax for all images, the others of softmaxes around it
STEPS = 60  # of Levenberg and Marquardt, from each start
TRIALS = 12  # of dampings, in a step
FITS = 1e-8  # of the square of what is explained: single precision tells no more
RANK = 1e-7  # of the largest singular value: single precision does not tell apart features that are more alike


@dataclass(frozen=True)
class HeadFeatures:
    """The last features of a batch, and p − y of each image."""

    features: Float[Tensor, "n f"]
    errors: Float[Tensor, "n classes"]


def head_features(
    weight: Float[Tensor, "classes f"], bias: Float[Tensor, " classes"], by_weight: Float[Tensor, "classes f"],
    by_bias: Float[Tensor, " classes"], labels: Float[Tensor, "n classes"],
) -> HeadFeatures | None:  # fmt: skip
    """Solve for the features of n images of known labels; None where no start leads to a solution."""
    weight, bias, by_weight, by_bias, labels = (
        each.detach().double() for each in (weight, bias, by_weight, by_bias, labels)
    )
    count, classes = labels.shape
    if count > min(classes, weight.shape[1]) or not bool(by_weight.any()):
        return None
    _, sizes, vectors = torch.linalg.svd(by_weight, full_matrices=False)
    if float(sizes[count - 1]) < RANK * float(sizes[0]):
        return None
    basis = vectors[:count]
    inside, wanted = weight @ basis.T, count * by_weight @ basis.T

    def missed(mix: Tensor) -> Tensor:
        errors = (mix @ inside.T + bias).softmax(1) - labels
        by_mix = (errors.T @ mix - wanted) / wanted.norm()
        return torch.cat([by_mix.flatten(), (errors.mean(0) - by_bias) / by_bias.norm()])

    best, least = None, FITS
    mean = (by_bias + labels.mean(0)).clamp_min(1e-6).log()
    chance = seeded(15)
    for start in range(STARTS):
        noise = chance.normals(count, classes).to(mean) * (0.3 * start)
        errors = (mean + noise).softmax(1) - labels
        ridge = 1e-4 * torch.eye(count, dtype=errors.dtype, device=errors.device)  # images may share a label
        mix, left = _solved(missed, torch.linalg.solve(errors @ errors.T + ridge, errors @ wanted))
        if left < least:
            best, least = mix, left
            break
    if best is None:
        return None
    return HeadFeatures(best @ basis, (best @ inside.T + bias).softmax(1) - labels)


def _solved(missed: Callable[[Tensor], Tensor], mix: Tensor) -> tuple[Tensor, float]:
    """Take damped steps of Gauss and Newton, and give the square of what is missed in the end."""
    damping, left = 1e-3, missed(mix)
    cost = float(left @ left)
    slopes = jacrev(missed)
    for _ in range(STEPS):
        jacobian = slopes(mix).flatten(1)
        normal, down = jacobian.T @ jacobian, jacobian.T @ left
        before = cost
        for _ in range(TRIALS):
            damped = normal + damping * torch.diag(normal.diagonal() + 1e-12)
            other = mix - torch.linalg.solve(damped, down).view(mix.shape)
            there = missed(other)
            if float(there @ there) < cost:
                mix, left, cost, damping = other, there, float(there @ there), max(damping / 5, 1e-12)
                break
            damping *= 4
        if before - cost <= 1e-9 * before:
            break
    return mix, cost
