"""Lines of a claim's curves, as a result holds them."""

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

POINTS = 120  # of a line


def written(values: Sequence[float] | NDArray[Any]) -> tuple[float, ...]:
    """Give numbers with five digits.

    >>> written([1 / 3, 2])
    (0.33333, 2.0)
    """
    return tuple(float(f"{value:.5g}") for value in values)
