"""Who is in which row with what weight: sums over the images of a row, and over the rows of an image."""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True)
class Mixtures:
    """The matrix A, rows × images, by the few entries that each row has.

    A row may have the same image twice, and an entry of weight 0 says nothing. Both products are sums over short lists,
    which are faster than a sparse matrix and work on every device.
    """

    sources: Int[Tensor, "m k"]
    weights: Float[Tensor, "m k"]
    images: int

    @cached_property
    def _rows(self) -> tuple[Int[Tensor, "n most"], Float[Tensor, "n most"]]:
        """Give the rows of every image and its weights there, filled up with weights of 0."""
        image, order = self.sources.flatten().sort(stable=True)
        counts = image.bincount(minlength=self.images)
        place = torch.arange(len(image), device=image.device) - (counts.cumsum(0) - counts)[image]
        rows = image.new_zeros(self.images, max(1, int(counts.max())))
        weights = self.weights.new_zeros(rows.shape)
        rows[image, place] = order // self.sources.shape[1]
        weights[image, place] = self.weights.flatten()[order]
        return rows, weights

    def some(self, rows: slice) -> "Mixtures":
        """Give some rows."""
        return Mixtures(self.sources[rows], self.weights[rows], self.images)

    def mixed(self, images: Float[Tensor, "n pixels"]) -> Float[Tensor, "m pixels"]:
        """Give A x."""
        return functional.embedding_bag(self.sources, images, mode="sum", per_sample_weights=self.weights)

    def gathered(self, rows: Float[Tensor, "m pixels"]) -> Float[Tensor, "n pixels"]:
        """Give A' y."""
        numbers, weights = self._rows
        return functional.embedding_bag(numbers, rows, mode="sum", per_sample_weights=weights)

    def products(self, row_weights: Float[Tensor, " m"]) -> Float[Tensor, "n n"]:
        """Give A' D A in double precision, D the diagonal of row weights."""
        total = torch.zeros(self.images * self.images, dtype=torch.float64, device=self.weights.device)
        weights = self.weights.double()
        for first in range(self.sources.shape[1]):
            for second in range(self.sources.shape[1]):
                places = self.sources[:, first] * self.images + self.sources[:, second]
                total.index_add_(0, places, row_weights.double() * weights[:, first] * weights[:, second])
        return total.view(self.images, self.images)

    def diagonal(self, row_weights: Float[Tensor, " m"]) -> Float[Tensor, " n"]:
        """Give the diagonal of A' D A, no image being in a row twice."""
        return self.squared().gathered(row_weights[:, None])[:, 0]

    def energies(self) -> Float[Tensor, " m"]:
        """Give Σ_j λ_rj² of every row."""
        return self.weights.square().sum(1)

    def squared(self) -> "Mixtures":
        """Give the matrix of squared weights."""
        return Mixtures(self.sources, self.weights.square(), self.images)
