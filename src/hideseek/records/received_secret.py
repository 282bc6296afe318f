"""What is known of a release that somebody else made: its images, perhaps, and not how its rows were made of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.records.claims import Claim, Membership, Reconstruction
from hideseek.records.evidence import Evidence
from hideseek.records.secret import Secret


@dataclass(frozen=True)
class ReceivedSecret(Secret):
    """The private images without the keys, or stand-ins for them: then nothing is judged.

    Which images are in which row is not known, so guesses about rows are matched to all private images, one to one, and
    what is said of rows alone (links, masks, public images, picks for a row) is not judged.
    """

    rows: int = 0
    signs: bool = False
    """Whether there is a mask."""
    known: bool = False
    """Whether `private` are the private images."""

    @property
    def items(self) -> int:
        """Count the rows."""
        return self.rows

    def holds(self, items: Int[Tensor, " n"]) -> Int[Tensor, "n 1"]:
        """Say that it is not known."""
        return torch.full((len(items), 1), -1, dtype=torch.int64)

    def shares(self, items: Int[Tensor, " n"]) -> Float[Tensor, "n 1"]:
        """Say that it is not known."""
        return torch.zeros(len(items), 1)

    @property
    def masked(self) -> bool:
        """Tell whether there is a mask."""
        return self.signs

    @property
    def judged(self) -> bool:
        """Tell whether the private images are here."""
        return self.known

    @property
    def traced(self) -> bool:
        """Tell that nobody here knows what is in which row."""
        return False

    def judgeable(self, evidence: Evidence) -> Evidence:
        """Give guesses of images without an order, and who is said to be a member; nothing that is about rows."""
        if not self.known:
            return replace(evidence, claims=())
        return replace(evidence, claims=tuple(each for claim in evidence.claims for each in _of_no_row(claim)))

    def withheld(self, field: str) -> Any:
        """Refuse: an attack that needs it is not run."""
        raise KeyError(field)


def _of_no_row(claim: Claim) -> list[Claim]:
    if isinstance(claim, Membership):
        return [claim]
    if isinstance(claim, Reconstruction) and not claim.picked:
        return [replace(claim, of="any")]
    return []
