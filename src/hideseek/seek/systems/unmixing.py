"""Taking mixtures apart: from rough guesses of the images to the images themselves, by alternating least squares."""

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from hideseek.progress import track
from hideseek.records import Task
from hideseek.seek.work import CALL, DOUBLE

SUM = 30.0  # how much more a sum of weights that is not 1 counts than a wrong pixel
_RIDGE = 1e-6  # of the mean diagonal


def unmix(
    rows: Float[Tensor, "m pixels"],
    white: Float[Tensor, "m white"],
    guesses: Float[Tensor, "n white"],
    k: int,
    steps: int,
) -> tuple[Float[Tensor, "n pixels"], float]:
    """Solve rows ≈ Λ X for weights Λ ≥ 0 with sums of 1, at most k in a row, and images X, in turn.

    Weights are fitted where images are white (`white` are the rows there, by a linear map), from rough guesses of the
    images there. Returns the images themselves, and the share of the rows' energy that is left unexplained.
    """
    weights = torch.zeros(len(rows), len(guesses))
    for _ in track(range(steps), "taking mixtures apart"):
        weights = _weights(white, guesses, k)
        guesses = _images(weights, white)
    images = _images(weights, rows)
    left = (rows - weights @ images).square().sum() / (rows - rows.mean(0)).square().sum()
    return images, float(left)


def unmix_work(task: Task, images: int) -> float:
    """Count a step: the fits of every row, each some calls and some more for every image in it, and two solutions."""
    fits = (14 + 4 * task.images_per_item) * CALL + 2 * images * task.pixels
    return task.items * fits + images * (images + task.pixels) * (images + task.items) * DOUBLE


def _images(weights: Float[Tensor, "m n"], rows: Float[Tensor, "m pixels"]) -> Float[Tensor, "n pixels"]:
    """Give (ΛᵀΛ + ridge)⁻¹ Λᵀ rows; an image that is in no row stays zero."""
    gram = weights.T.double() @ weights.double()
    gram.diagonal().add_(_RIDGE * gram.diagonal().mean())
    images: Float[Tensor, "n pixels"] = torch.linalg.solve(gram, weights.T.double() @ rows.double()).float()
    return images


def _weights(rows: Float[Tensor, "m pixels"], images: Float[Tensor, "n pixels"], k: int) -> Float[Tensor, "m n"]:
    """Fit every row by at most k images, with weights that are not negative and sum to one.

    Of the images that match a row best, the few that non-negative least squares weighs most are fitted again.
    """
    from scipy.optimize import nnls

    scale = SUM * float(rows.square().sum(1).mean().sqrt())
    exact = images.double()  # products of float32 may be those of no images
    gram = exact @ exact.T + scale**2
    products = (rows @ images.T).double() + scale**2
    wide: Int[Tensor, "m wide"] = (
        ((products - scale**2) / images.norm(dim=1).clamp_min(1e-30)).topk(min(3 * k + 4, len(images)), 1).indices
    )
    weights = torch.zeros(len(rows), len(images))

    def fitted(row: int, columns: NDArray[np.int64]) -> NDArray[np.float64]:
        root = np.linalg.cholesky(gram[columns][:, columns].numpy() + 1e-9 * scale**2 * np.eye(len(columns)))
        found: NDArray[np.float64] = nnls(root.T, np.linalg.solve(root, products[row, columns].numpy()))[0]
        return found

    for row, columns in enumerate(wide.numpy()):
        few = columns[np.argsort(-fitted(row, columns))[:k]]
        weights[row, few] = torch.from_numpy(fitted(row, few)).float()
    return weights
