"""What attacks cost on the reference machine, and the settings that fit into some seconds.

The reference is two cores of a processor that multiply matrices of float32 at some 190 GFLOP/s; `models/pace.py` tells
how much slower another machine is. `benchmarks/estimates.py` sets what is expected beside what is measured.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from hideseek.records import Attack, Task

PRODUCT = 1.3e-11  # seconds of a multiplication and an addition in a large product of matrices
DOUBLE_PRODUCT = 2.2e-11  # the same in double precision
EIGEN = 1.2e-10  # seconds of an eigendecomposition, over the cube of its side
SSIM = 3e-8  # seconds that SSIM takes for a number of two images
VALUE = 2e-9  # seconds that a number takes, in memory, of a few operations on all of them
LEAST_ROWS = 50  # that an attack on single rows is worth running on

A = TypeVar("A", bound=Attack[Any])


def attacked(rows: int | None, task: Task) -> int:
    """Give how many rows are attacked where only the first `rows` are, or all."""
    return task.items if rows is None else min(rows, task.items)


def fits(attack: Attack[Any], seconds: float, task: Task) -> bool:
    """Tell whether an attack fits into some seconds as it is."""
    effort = attack.effort(task)
    return effort is None or effort <= seconds


def largest(make: Callable[[int], A], least: int, most: int, seconds: float, task: Task) -> A:
    """Give the attack with the largest setting that fits into some seconds; with the least one where none does.

    `make` gives the attack of a setting, which must not cost less where it is larger.
    """
    low, high = min(least, most), most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(make(middle), seconds, task) else (low, middle - 1)
    return make(low)
