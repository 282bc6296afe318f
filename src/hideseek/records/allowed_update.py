"""What an update can have been before it was defended: all that a message tells to one who knows the defence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor


@dataclass(frozen=True)
class AllowedUpdate:
    """An interval for every entry, which is a point where the entry was sent as it was.

    An attacker who compares gradients with it counts only what lies outside. `noise` is on all entries beside.
    """

    low: Mapping[str, Tensor]
    high: Mapping[str, Tensor]
    noise: float = 0.0
    """The deviation of Gaussian noise that was added to every entry."""
    inside: float = 0.0
    """What the distance from what was sent counts inside of an interval, beside that from its ends: 0 where all of an
    interval is as likely, 1 where an entry is likelier the nearer it is, as after rounding by chance."""
    scaled: bool = False
    """Whether all entries were divided by a common number that is not known, so that only directions are told."""

    @classmethod
    def exact(cls, update: Mapping[str, Tensor]) -> Self:
        """Say that an update was sent as it was."""
        return cls(update, update)

    @property
    def points(self) -> bool:
        """Tell whether every entry is told."""
        return all(torch.equal(self.low[name], self.high[name]) for name in self.low)
