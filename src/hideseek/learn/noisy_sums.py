"""The simplest private learners: sums of what images are, under Gaussian noise, and a linear model in closed form."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hideseek.chance import Randomness
from hideseek.chance.gaussian_noise import gaussian_noise
from hideseek.errors import BadInput
from hideseek.learn.checks import check_classes
from hideseek.models import build
from hideseek.records import Samples
from hideseek.train.trained import Trained, class_names

MODEL = "linear"
CHUNK = 4096  # images that are looked at together
COUNT = 0.3  # what an image adds to the number of images, where it adds a vector of length 1 at most to a sum
CENTRE = 0.1  # share of μ² that is spent on the mean of all images

Vectors = Float[Tensor, "n pixels"]


@dataclass(frozen=True)
class NoisySums:
    """Learns a linear model from noisy sums; all of it together is μ-GDP, where an image is added or removed.

    Images x have length 1. First the mean m̂ of all, from Σ x_i and the number of images, for a tenth of μ². Then, of
    v_i = clip(x_i − m̂, C) / C with C² = 1 − ‖m̂‖², which is what unit vectors deviate from their mean on the whole:
    S_c = Σ_{i of c} v_i, and the number of images of each class. An image adds a vector of length √(1 + COUNT²) to all
    of this, so that noise of √(1 + COUNT²) / μ makes it a Gaussian mechanism; μ² adds.

    `means`: the nearest mean, M_c = C S_c / n̂_c: argmax_c ⟨M_c, x − m̂⟩ − s ‖M_c‖² / 2, where s is the share of ‖M‖²
    that is not noise, as in `class_means`. `least-squares` also sums v vᵀ, of length 1 again, and divides by that:
    linear discriminants w_c = (A + λ)⁻¹ M_c, with λ as large as the largest eigenvalue of the noise in A, as
    sufficient-statistics perturbation does (Wang 2018).
    """

    mu: float
    """μ of Gaussian differential privacy, for everything together."""
    method: Literal["means", "least-squares"] = "means"

    def __post_init__(self) -> None:
        if not 0 < self.mu < float("inf"):
            raise BadInput(f"μ must be positive and finite, not {self.mu}.")

    def learn(self, samples: Samples, chance: Randomness) -> Trained:
        """Sum, add noise, and solve."""
        check_classes(samples)
        if samples.normalisation.kind != "image":
            raise BadInput("noise is for images of length 1: normalise each image by itself.")
        centre = self._centre(samples, chance)
        reach = max(1e-3, 1 - float(centre.square().sum())) ** 0.5
        squares = self.method == "least-squares"
        length = (1 + COUNT**2 + squares) ** 0.5
        deviation = length / (self.mu * (1 - CENTRE) ** 0.5)
        sums, counts, products = _sums(samples, centre, reach, squares=squares)
        sums += deviation * gaussian_noise(chance, *sums.shape).double()
        counts += deviation / COUNT * gaussian_noise(chance, len(counts)).double()
        counts = counts.clamp_min(deviation / COUNT)  # a class of fewer images cannot be told from none
        means = reach * sums / counts[:, None]
        noise = (reach * deviation / counts).square() * means.shape[1]
        kept = (1 - noise.sum() / means.square().sum()).clamp_min(0)
        weights = means
        if products is not None:
            total = float(counts.sum())
            products += deviation * _symmetric(len(products), chance)
            ridge = 2 * deviation * len(products) ** 0.5  # the norm of such a matrix (Wigner)
            inner = (products + ridge * torch.eye(len(products), dtype=torch.float64)) * reach**2 / total
            weights = torch.linalg.solve(_positive(inner, ridge * reach**2 / total), means.T).T
        bias = -kept * (weights * means).sum(1) / 2 - weights @ centre
        return _linear(samples, weights, bias, chance)

    def _centre(self, samples: Samples, chance: Randomness) -> Float[Tensor, " pixels"]:
        """Give m̂, the noisy mean of all images, no longer than 1."""
        deviation = (1 + COUNT**2) ** 0.5 / (self.mu * CENTRE**0.5)
        total = sum((pixels.sum(0) for pixels, _ in _parts(samples)), torch.zeros(()).double())
        total = total + deviation * gaussian_noise(chance, *total.shape).double()
        count = len(samples) + deviation / COUNT * float(gaussian_noise(chance, 1))
        centre = total / max(count, deviation / COUNT)
        shortened: Tensor = centre / max(1.0, float(centre.norm()))
        return shortened


def _parts(samples: Samples) -> Iterator[tuple[Vectors, Float[Tensor, "n classes"]]]:
    """Give images, no longer than 1, and labels, some at a time."""
    for start in range(0, len(samples), CHUNK):
        part = slice(start, start + CHUNK)
        yield _clipped(samples.pixels(part).flatten(1).double(), 1.0), samples.labels[part].double()


def _clipped(vectors: Vectors, length: float) -> Vectors:
    """Shorten what is longer."""
    factors: Tensor = (length / vectors.norm(dim=1, keepdim=True).clamp_min(1e-30)).clamp_max(1.0)
    return vectors * factors


def _sums(
    samples: Samples, centre: Float[Tensor, " pixels"], reach: float, *, squares: bool
) -> tuple[Float[Tensor, "classes pixels"], Float[Tensor, " classes"], Float[Tensor, "pixels pixels"] | None]:
    """Give S_c, the number of images of each class, and Σ v vᵀ where it is wanted."""
    classes, size = samples.labels.shape[1], len(centre)
    sums = torch.zeros(classes, size, dtype=torch.float64)
    counts = torch.zeros(classes, dtype=torch.float64)
    products = torch.zeros(size, size, dtype=torch.float64) if squares else None
    for pixels, labels in _parts(samples):
        vectors = _clipped(pixels - centre, reach) / reach
        sums += labels.T @ vectors
        counts += labels.sum(0)
        if products is not None:
            products += vectors.T @ vectors
    return sums, counts, products


def _symmetric(size: int, chance: Randomness) -> Float[Tensor, "size size"]:
    """Draw a symmetric matrix whose entries on and above the diagonal are independent and of deviation 1."""
    upper = torch.triu(gaussian_noise(chance, size, size).double())
    return upper + torch.triu(upper, 1).T


def _positive(matrix: Float[Tensor, "n n"], least: float) -> Float[Tensor, "n n"]:
    """Give a matrix whose eigenvalues are no smaller than a tenth of `least`: noise may have made some negative."""
    values, vectors = torch.linalg.eigh(matrix)
    positive: Tensor = (vectors * values.clamp_min(least / 10)) @ vectors.T
    return positive


def _linear(
    samples: Samples, weight: Float[Tensor, "classes pixels"], bias: Float[Tensor, " classes"], chance: Randomness
) -> Trained:
    """Give the linear model with these weights."""
    network = build(MODEL, samples.shape, len(bias))
    head = network.head
    assert isinstance(head, nn.Linear)  # noqa: S101 (that is what a linear model is)
    with torch.no_grad():
        head.weight.copy_(weight)
        head.bias.copy_(bias)
    return Trained(network.eval(), MODEL, samples.shape, class_names(samples), samples.normalisation, seed=chance.seed)
