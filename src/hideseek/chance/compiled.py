"""Compiling inner loops with numba, cached for the next run where a cache can be written; and running them."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar

import numba
import torch

F = TypeVar("F", bound=Callable[..., Any])


def compiled(**options: Any) -> Callable[[F], F]:
    """Compile a function without Python's lock, and cache the result if a folder for it can be written."""

    def compile_it(function: F) -> F:
        try:
            made: F = numba.njit(nogil=True, cache=True, **options)(function)
        except RuntimeError:  # a read-only installation, no writable cache: compile in every run
            made = numba.njit(nogil=True, **options)(function)
        return made

    return compile_it


def on_threads(loop: Callable[..., None], count: int, *given: Any) -> None:
    """Call `loop(first, last, *given)` for all of range(count), in as many parts as torch has threads, side by side.

    Numba's own threads (`parallel=True`) set the number of torch's for the rest of the process: who asked for one
    thread would have two that wait for each other. The calling thread takes a part, so that its time tells the work.
    """
    threads = max(1, min(torch.get_num_threads(), count))
    (first, last), *others = pairwise(count * number // threads for number in range(threads + 1))
    if not others:
        loop(first, last, *given)
        return
    with ThreadPoolExecutor(len(others)) as pool:
        waiting = [pool.submit(loop, *part, *given) for part in others]
        loop(first, last, *given)
        for each in waiting:
            each.result()
