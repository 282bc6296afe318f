"""How much work an attack does, and the settings that fit into some of it.

The unit is a multiplication with its addition in a product of large float32 matrices: some 10¹¹ of them a second on two
cores. What is not such a product is counted by what it does, at the few rates below, which hold for processors of
today to within a factor of two or so. A run on a small release tells how long a unit really takes there
(`benchmarks/estimates.py`), so what counts is how the parts of an attack compare with each other.
"""

import math
from collections.abc import Callable

from hideseek.records import Task

DOUBLE = 2  # a multiplication in double precision: half as many numbers fit into a register
TOUCH = 50  # a number that is read, changed and written back: 8 bytes, and memory moves some 16 GB in a second
WINDOW = 8  # a multiplication in a small window that slides over one channel: little of it fills the registers
LOOKUP = 350  # a number at a place that is not known before: a cache line, or a branch that is guessed wrong
CALL = 700_000  # a call of a library from Python: some microseconds, however little there is to do

LEAST_ROWS = 50  # that an attack on single rows is worth running on


def eigendecomposition(side: int) -> float:
    """Count the eigenvectors of a symmetric matrix in double precision: about 4½ products of its size."""
    return 4.5 * DOUBLE * float(side) ** 3


def sorting(numbers: float) -> float:
    """Count a sort: as many comparisons of a number as a binary search has steps."""
    return numbers * math.log2(max(2.0, numbers)) * LOOKUP


def structural_similarity(numbers: float) -> float:
    """Count SSIM of images with so many numbers: five means over windows of 7×7, and some twenty passes over maps."""
    return numbers * (5 * 49 * WINDOW + 20 * TOUCH / 2)


def attacked(rows: int | None, task: Task) -> int:
    """Give how many rows are attacked where only the first `rows` are, or all."""
    return task.items if rows is None else min(rows, task.items)


def largest(work_of: Callable[[int], float], least: int, most: int, work: float) -> int:
    """Give the largest setting that takes at most so much work, or the least one where none does.

    `work_of` must not fall where the setting grows.

    >>> largest(lambda rows: 10.0 * rows, least=5, most=100, work=321.0)
    32
    >>> largest(lambda rows: 10.0 * rows, least=5, most=100, work=0.0)
    5
    """
    low, high = min(least, most), most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if work_of(middle) <= work else (low, middle - 1)
    return low
