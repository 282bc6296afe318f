"""Which images are in a masked row and with what weights, all images being known in part: pursuit with soft signs."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from hideseek.progress import track
from hideseek.records import Task
from hideseek.seek.signals.signed_clusters import whitener, whitening_work
from hideseek.seek.work import CALL, TOUCH

FIT_TURNS = 3  # of signs and weights
RIDGE = 0.01  # of the energy of images
LARGEST = 0.7  # weight: InstaHide's are bounded by 0.65
FIRST, NEXT = 0.4, 0.1  # weights that the first image of a row, and another that is added, begin with
SHRUNK = 0.3  # of the covariance of what rows have left is taken from its spectrum
LEAST = 1e-4  # of the energy of rows is always in doubt
BLOCK = 2048  # rows at a time


@dataclass(frozen=True)
class Explained:
    """Rows as they are explained: x̃ = σ (Σ_j λ_j x_j + rest)."""

    sources: Int[Tensor, "m k"]
    weights: Float[Tensor, "m k"]
    mixed: Float[Tensor, "m pixels"]
    """Σ_j λ_j x_j."""
    signed: Float[Tensor, "m pixels"]
    """E σ x̃."""
    left: Float[Tensor, " m"]
    """E(σ x̃ − Σ_j λ_j x_j)², the mean of pixels."""

    def where(self, condition: Bool[Tensor, " m"], other: "Explained") -> "Explained":
        """Take some rows from here, and the others from there."""
        wide = condition[:, None]
        return Explained(
            torch.where(wide, self.sources, other.sources),
            torch.where(wide, self.weights, other.weights),
            torch.where(wide, self.mixed, other.mixed),
            torch.where(wide, self.signed, other.signed),
            torch.where(condition, self.left, other.left),
        )


def pursued(
    magnitudes: Float[Tensor, "m pixels"],
    images: Float[Tensor, "n pixels"],
    shape: tuple[int, ...],
    first: Int[Tensor, " m"],
    count: int,
) -> Explained:
    """Explain each row by so many images, the first of which is given: one after the other, then each once more.

    Signs are those of what is explained, as far as that is sure. What a row has left, with those signs, is then a sum
    of images: the one that it is most like in white space is added, and weights are fitted anew. At last each image,
    the lightest first, is taken out and the best looked for again, and kept if less is left.
    """
    energy = magnitudes.square().mean(1)
    own = images.square().mean(1)[first]
    doubt = torch.maximum(energy - FIRST**2 * own, 0.05 * energy)
    weights = torch.full_like(energy, FIRST)[:, None]
    found = fitted(magnitudes, images, first[:, None], weights, doubt)
    for _ in range(1, count):
        found = _added(magnitudes, images, shape, found)
    sizes = images.square().mean(1)
    for place in track(range(count), "each image of a row once more"):
        heavy = (found.weights.square() * sizes[found.sources]).argsort(1, descending=True)
        kept = torch.cat([heavy[:, : count - 1 - place], heavy[:, count - place :]], 1)
        fewer = fitted(magnitudes, images, found.sources.gather(1, kept), found.weights.gather(1, kept), found.left)
        other = _added(magnitudes, images, shape, fewer)
        found = other.where(other.left < found.left, found)
    return found


def fitted(
    magnitudes: Float[Tensor, "m pixels"],
    images: Float[Tensor, "n pixels"],
    sources: Int[Tensor, "m k"],
    weights: Float[Tensor, "m k"],
    doubt: Float[Tensor, " m"],
) -> Explained:
    """Fit weights to |x̃| in least squares, with soft signs, x̃ tanh(x̃ m / v), in turn; v is what is left."""
    parts = []
    least = LEAST * float(magnitudes.square().mean()) + 1e-12
    for some in torch.arange(len(magnitudes)).split(BLOCK):
        rows, held, share = magnitudes[some], images[sources[some]], weights[some]
        variance = doubt[some, None].clamp_min(least)
        matrix = held @ held.mT
        scale = matrix.diagonal(dim1=1, dim2=2).mean(1)[:, None, None].clamp_min(1e-9)
        matrix = matrix + RIDGE * scale * torch.eye(matrix.shape[1])
        for turn in range(FIT_TURNS + 1):
            mixed = (share[:, None] @ held)[:, 0]
            signed = rows * torch.tanh(rows * mixed / variance)
            left = (rows.square() - 2 * signed * mixed + mixed.square()).mean(1)
            variance = left[:, None].clamp_min(least)
            if turn < FIT_TURNS:
                share = torch.linalg.solve(matrix, held @ signed[..., None])[..., 0].clamp(0, LARGEST)
        parts.append((share, mixed, signed, left.clamp_min(least)))
    shares, sums, signs, rest = (torch.cat(each) for each in zip(*parts, strict=True))
    return Explained(sources, shares, sums, signs, rest)


def _added(
    magnitudes: Float[Tensor, "m pixels"], images: Float[Tensor, "n pixels"], shape: tuple[int, ...], found: Explained
) -> Explained:
    """Add to each row the image that is most like what it has left, white, and that it does not have."""
    left = found.signed - found.mixed
    white = whitener(left, shape, SHRUNK)
    looked = images @ white
    scores = (left @ white) @ (looked / looked.norm(dim=1, keepdim=True).clamp_min(1e-9)).T
    best = scores.scatter(1, found.sources, -torch.inf).argmax(1, keepdim=True)
    sources = torch.cat([found.sources, best], 1)
    weights = torch.cat([found.weights, torch.full_like(found.weights[:, :1], NEXT)], 1)
    return fitted(magnitudes, images, sources, weights, found.left)


def pursuit_work(task: Task, count: int) -> float:
    """Count fits of one image to all, then two for each image again, and the searches."""
    numbers = float(task.items) * task.pixels
    fits = sum(range(1, count + 1)) + count * (2 * count - 1)
    passes = numbers * (FIT_TURNS * fits * TOUCH / 8 + (FIT_TURNS + 1) * 3 * count * 8 * TOUCH)
    search = 2 * count * (whitening_work(task.items, task.pixels) + numbers * task.images)
    return passes + search + 3 * count * FIT_TURNS * 20 * CALL
