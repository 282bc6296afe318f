"""The ground truth behind a trained model."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.errors import BadInput
from hideseek.records.gallery import digests, joined
from hideseek.records.secret import Secret


@dataclass(frozen=True)
class ModelSecret(Secret):
    """Which images a model was trained on: all private ones."""

    other_labels: Float[Tensor, "others classes"] | None = field(default=None, kw_only=True)
    """Of the images that it was not trained on; None: those of the private ones, which are mirrored then."""

    @property
    def items(self) -> int:
        """Count the models."""
        return 1

    def holds(self, items: Int[Tensor, " n"]) -> Int[Tensor, "n images"]:
        """Give all private images."""
        return torch.arange(len(self.private)).expand(len(items), -1)

    def shares(self, items: Int[Tensor, " n"]) -> Float[Tensor, "n images"]:
        """Give each as much as the others."""
        return torch.full((len(items), len(self.private)), 1 / len(self.private))

    def withheld(self, field: str) -> Float[Tensor, "candidates classes"]:
        """Give the labels of the candidates."""
        return {"labels": self.candidate_labels}[field]

    @cached_property
    def candidate_labels(self) -> Float[Tensor, "candidates classes"]:
        """Give the labels of the gallery, in the order of its images."""
        others = self.private.labels if self.other_labels is None and self.others is None else self.other_labels
        if others is None or len(others) != len(self.non_members) or others.shape[1:] != self.private.labels.shape[1:]:
            raise BadInput("images that a model was not trained on need labels of the same classes as the others.")
        names = digests(joined(self.private, self.non_members))
        order = torch.tensor(sorted(range(len(names)), key=names.__getitem__), dtype=torch.int64)
        return torch.cat([self.private.labels, others])[order]
