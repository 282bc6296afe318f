"""Compiling inner loops: once, and kept for the next run where there is a place to keep it."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(**options: Any) -> Callable[[F], F]:
    """Compile a function with numba, without Python's lock, and cache the result if a folder for it can be written."""

    def compile_it(function: F) -> F:
        try:
            made: F = numba.njit(nogil=True, cache=True, **options)(function)
        except RuntimeError:  # a read-only installation with no writable cache: compile anew in every run
            made = numba.njit(nogil=True, **options)(function)
        return made

    return compile_it
