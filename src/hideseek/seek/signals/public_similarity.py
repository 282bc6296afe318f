"""The contract of ways to compare rows with public images."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from jaxtyping import Float, Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.records import EncodedRelease, Refusal, Task


@dataclass(frozen=True)
class Ranking:
    """The images that are most alike to each row, the likeliest first; and remarks on how that was told."""

    scores: Float[Tensor, "rows kept"]
    places: Int[Tensor, "rows kept"]
    remarks: Mapping[str, Any] = field(default_factory=dict)


class PublicSimilarity(ABC):
    """A frozen dataclass whose fields are its settings; `search` ranks a release's public images for some rows."""

    @abstractmethod
    def search(
        self, rows: Float[Tensor, "n c h w"], release: EncodedRelease, count: int, chance: Randomness, *, masked: bool
    ) -> Ranking:
        """Give the `count` images that are most alike to each row; `masked` tells whether the rows' signs are random.

        The release's own rows are as the given ones are: where signs were restored, so are theirs.
        """

    def refuses(self, release: EncodedRelease) -> Refusal | None:
        """Say why a release cannot be searched so; None where it can."""
        return None

    @abstractmethod
    def work(self, rows: int, task: Task) -> float:
        """Count the work of a search for so many rows."""

    def within(self, work: float, rows: int, task: Task) -> Self:
        """Give settings that take at most so much work, or the least that make sense."""
        return self
