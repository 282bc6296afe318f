"""The ground truth behind updates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.records.secret import Secret


@dataclass(frozen=True)
class UpdateSecret(Secret):
    """Which private images are in each update, and how.

    Row r of update u is Σ_j weights[u, r, j] · image sources[u, r, j], under a mask of signs where there is one; −1
    fills the rows of updates that have fewer than others, and weights are 0 there.
    """

    sources: Int[Tensor, "updates rows k"]
    weights: Float[Tensor, "updates rows k"]
    round_of: Int[Tensor, " updates"]
    signs: bool = False
    """Whether rows were masked."""
    again: Callable[[str], Any] | None = field(default=None, compare=False, repr=False)
    """Computes a withheld field that takes the images: `labels`, `statistics`."""

    @property
    def items(self) -> int:
        """Count the updates."""
        return len(self.sources)

    @property
    def masked(self) -> bool:
        """Tell whether signs are hidden."""
        return self.signs

    def holds(self, items: Int[Tensor, " n"]) -> Int[Tensor, "n images"]:
        """Give the private images of some updates, each once, those that rows were made for first."""
        return self._distinct[0][items.cpu().long()]

    def shares(self, items: Int[Tensor, " n"]) -> Float[Tensor, "n images"]:
        """Give how much of an update each of them is; all of an update together are 1."""
        return self._distinct[1][items.cpu().long()]

    @cached_property
    def _distinct(self) -> tuple[Int[Tensor, "updates images"], Float[Tensor, "updates images"]]:
        """Sum what an image has in all rows of an update."""
        held, shares = [], []
        for sources, weights in zip(self.sources, self.weights, strict=True):
            totals: dict[int, float] = {}
            for image, weight in zip(sources.T.flatten().tolist(), weights.T.flatten().tolist(), strict=True):
                if image >= 0:
                    totals[image] = totals.get(image, 0.0) + weight
            whole = sum(totals.values())
            held.append(torch.tensor(list(totals), dtype=torch.int64))
            shares.append(torch.tensor([each / whole for each in totals.values()]))
        pad = torch.nn.utils.rnn.pad_sequence
        return pad(held, batch_first=True, padding_value=-1), pad(shares, batch_first=True)

    def withheld(self, field: str) -> Any:
        """Give a withheld field of an UpdateRelease."""
        if field == "round_of":
            return self.round_of
        if field in ("sources", "weights"):
            counts = (self.sources[:, :, 0] >= 0).sum(1).tolist()
            return tuple(each[:count] for each, count in zip(getattr(self, field), counts, strict=True))
        return None if self.again is None else self.again(field)
