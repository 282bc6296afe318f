"""Compiling inner loops with numba, cached for the next run where a cache can be written."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba

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
