"""The weights of a row's images: from its label where each has a class of its own, else from the row too."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hideseek.errors import BadInput
from hideseek.seek.systems.byte_equations import Floats
from hideseek.seek.systems.byte_votes import Unknown
from hideseek.seek.systems.byte_weights import split_weights

MOST = 1.001  # that weights may sum to: exact labels are right to 1e-7, rounded ones are not
DECIMALS = (1, 2, 3)  # that labels may be rounded to


@dataclass(frozen=True)
class RowWeights:
    """The weights of a row's images, and where they are from."""

    weights: Floats
    from_row: bool = False
    """Whether the row itself told them, since its label does not."""


@dataclass(frozen=True)
class LabelWeights:
    """Reads the weights of rows that mix k private images and nothing else; scale and shift are the pixels'."""

    k: int
    labels: Floats
    scale: Floats
    shift: Floats
    masked: bool
    half: float = field(init=False)
    """Half of the last decimal place that labels have; 0 where they are exact."""

    def __post_init__(self) -> None:
        mass = self.labels.sum(1)
        if self.labels.size and not (np.isfinite(mass).all() and self.labels.min() >= 0 and mass.max() <= MOST + 0.05):
            raise BadInput("labels must be mixtures of classes: finite, not negative, with a sum of 1 at most.")
        object.__setattr__(self, "half", rounded_to(self.labels))

    def of_row(self, number: int, row: Floats) -> RowWeights | None:
        """Give the weights of one row, c × h × w; None where too many of them are unknown."""
        shown = np.sort(self.labels[number][self.labels[number] > 0])[::-1]
        if self.half == 0 and len(shown) == self.k:
            return RowWeights(shown)
        if not (cases := self._cases(shown)):
            return None
        found = split_weights(row, cases, self.scale, self.shift, masked=self.masked)
        return RowWeights(found.weights, from_row=True)

    def _cases(self, shown: Floats) -> list[Unknown]:
        """Give what a label leaves open, where that is how two weights share their sum."""
        if self.k == 2 and self.half > 0 and len(shown) == 2:
            least = float(shown[-1])
            return [Unknown(1.0, between=(max(0.0, least - self.half), min(0.5, least + self.half)))]
        if self.k == 2:
            return [Unknown(1.0)]
        if self.half == 0 and len(shown) == self.k - 1:
            return [Unknown(float(total), tuple(np.delete(shown, place))) for place, total in enumerate(shown)]
        return []


def rounded_to(labels: NDArray[np.float32]) -> float:
    """Give half of the last decimal place that all labels have, if they have few, else 0.

    >>> rounded_to(np.array([[0.37, 0.63]], np.float32)), rounded_to(np.array([[0.37123456, 0.62876544]], np.float32))
    (0.005, 0.0)
    """
    mixed = labels[(labels > 0) & (labels < 1)].astype(np.float64)
    for places in DECIMALS if len(mixed) else ():
        if np.abs(mixed - np.round(mixed, places)).max() < 1e-6:
            return 0.5 * 10.0**-places
    return 0.0
