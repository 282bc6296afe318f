"""All inputs of a dense ReLU layer from its gradient, with what certifies each of them."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.seek.systems.peeling import peel
from hideseek.seek.systems.sparse_directions import Factors, factors, sparse_directions

COARSEST = 100.0  # what counts as zero would say nothing beyond
FILLED = 10.0  # times coarser is what was filled in
RANK = 1e-6  # of the largest singular value: what float32 leaves of an image; its rounding is some 1e-8
ONE = 1e-4  # how far a matrix may be from one image's, as a share of its norm
SILENT = 1e-3  # of an image's largest δ: what certified images may have where the layer says that they are silent
CROSSING, CROSSED = 0.05, 0.2  # after local steps: silent neurons that may have fired, at most, and how near to zero
LEAST_SILENT = 8  # neurons that must be silent, for that to say something


@dataclass(frozen=True)
class LayerImages:
    """What a layer's gradient shows of its inputs."""

    inputs: Float[Tensor, "n inputs"]
    sure: Bool[Tensor, " n"]
    rank: int
    """The number of images, if none is a mixture of others; that of neurons or inputs: not known."""
    peeled: int = 0
    searched: int = 0


def layer_images(
    matrix: Float[Tensor, "neurons inputs"],
    layer: Float[Tensor, "neurons inputs"],
    rounds: int,
    chance: Randomness,
    own: Float[Tensor, "n inputs"] | None = None,
    *,
    moved: bool = False,
    filled: bool = False,
) -> LayerImages:
    """Give the inputs x̃ = (x, 1) of a layer W̃ = (W, b) from A = Σ_i δ_i x̃_i'; the last column is that of the bias.

    `moved` says that A is what the layer moved by in local steps: neurons near zero may have fired in one of them;
    `filled` that entries of A were missing, and were filled in.
    """
    matrix, layer = matrix.double(), layer.double()
    single = _one_input(matrix)
    if single is not None:
        inputs, sure = certified(matrix, layer, single, moved=moved)
        return LayerImages(inputs, sure, 1, 1)
    coarse = max(_coarse(matrix, layer) if moved else 1.0, FILLED if filled else 1.0)
    parts = factors(matrix, layer, RANK * coarse, coarse)
    rank = parts.rank
    if rank == 0 or rank == min(matrix.shape):
        return LayerImages(matrix.new_zeros(0, matrix.shape[1]), torch.zeros(0, dtype=torch.bool), rank)
    parts, peeled, _ = peel(parts)
    guesses = None if own is None else own.double() @ parts.right.T
    if parts.rank == 1:
        rest, whole = parts.right, True
    else:
        found = sparse_directions(parts, chance, rounds, guesses)
        whole = len(found) == parts.rank
        rest = torch.linalg.inv(found).T @ parts.right if whole else _approximate(parts, found)
    heard = rest[:, -1].abs() > 1e-9 * rest.norm(dim=1)
    rest = rest[heard] / rest[heard, -1:]
    inputs = torch.cat([peeled, rest])
    if whole and len(inputs) == rank:
        inputs, sure = certified(matrix, layer, inputs, moved=moved)
    else:
        sure = torch.arange(len(inputs)) < len(peeled)
    return LayerImages(inputs, sure, rank, len(peeled), len(inputs) - len(peeled))


def _approximate(parts: Factors, found: Tensor) -> Tensor:
    """Guess the inputs of some δ by where they are zero: the c whose signs fit, orthogonal to the a of all others."""
    if not len(found):
        return parts.right[:0]
    size = (parts.left @ found.T).abs()
    fires = torch.where(size > 1e-4 * size.amax(0), 1.0, -1.0).to(size)
    normal = parts.layer.T @ parts.layer
    normal += 1e-3 * normal.diagonal().mean() * torch.eye(len(normal), dtype=normal.dtype)
    guess = torch.linalg.solve(normal, parts.layer.T @ fires)  # rank × found
    scale = (parts.right[:, -1] @ guess).abs().clamp_min(1e-12)
    guess = guess / torch.where(parts.right[:, -1] @ guess < 0, -scale, scale)
    own = torch.eye(len(found), dtype=guess.dtype) * (found @ guess)
    inputs: Tensor = (guess - torch.linalg.pinv(found) @ (found @ guess - own)).T @ parts.right
    return inputs


def _coarse(matrix: Tensor, layer: Tensor) -> float:
    """Tell how much coarser a difference of weights is than a gradient: it has the rounding of weights in float32."""
    rounding: float = 2.0**-24 * float(layer.square().mean().sqrt()) * (len(matrix) ** 0.5 + matrix.shape[1] ** 0.5)
    return min(max(1.0, 2 * rounding / float(torch.linalg.matrix_norm(matrix, 2)) / RANK), COARSEST)


def _one_input(matrix: Tensor) -> Tensor | None:
    """Give the input that all rows are multiples of, where there is one."""
    row = matrix[matrix[:, -1].abs().argmax()]
    if float(row[-1].abs()) <= 1e-9 * float(row.norm()):
        return None
    rest = matrix - torch.outer(matrix @ row, row) / row.square().sum()
    return (row / row[-1])[None] if float(rest.norm()) <= ONE * float(matrix.norm()) else None


def certified(matrix: Tensor, layer: Tensor, inputs: Tensor, *, moved: bool = False) -> tuple[Tensor, Tensor]:
    """Solve for δ and inputs once more, and tell which inputs the layer itself confirms.

    Given all inputs, least squares give δ; each must vanish wherever W̃ x̃ < 0. Then inputs follow once more from all
    neurons together. Of one image the rows need be alone multiples of each other, behind whatever activation.
    """
    errors = torch.linalg.lstsq(inputs.T, matrix.T).solution  # images × neurons
    excited = inputs @ layer.T
    silent = excited < 0
    size = errors.abs() / errors.abs().amax(1, keepdim=True).clamp_min(1e-300)
    fits = float((matrix - errors.T @ inputs).norm()) <= ONE * float(matrix.norm())
    wrong = silent & (size > SILENT)
    near = excited.abs() < CROSSED * excited.square().mean(1, keepdim=True).sqrt()
    right = (wrong <= near).all(1) & (wrong.sum(1) <= CROSSING * silent.sum(1)) if moved else ~wrong.any(1)
    sure = right & (silent.sum(1) >= LEAST_SILENT) & fits
    if len(inputs) == 1 and int((size < SILENT).sum()) < LEAST_SILENT:  # no ReLU: nothing is silent
        sure = torch.tensor([fits])
    if len(inputs) > 1 and bool(sure.all()):
        again = torch.linalg.lstsq((errors * ~(silent & ~wrong)).T, matrix).solution
        inputs = again / again[:, -1:]
    return inputs, sure
